// node-redis: multi().exec() is a transaction. Integers are read as doubles, so the layout has 53 bits.
const redis = require('redis')

async function main () {
  const client = redis.createClient({ socket: { path: process.argv[2] } })
  await client.connect()
  console.log(await client.sendCommand(['NEXT']))
  for (const id of await client.sendCommand(['NEXT', '3'])) console.log(id)
  const multi = client.multi()
  for (let i = 0; i < 3; i++) multi.addCommand(['NEXT'])
  for (const id of await multi.exec()) console.log(id)
  for (const id of await Promise.all([1, 2, 3].map(() => client.sendCommand(['NEXT'])))) console.log(id)
  await client.quit()
}
main().catch(err => { console.error(err); process.exit(1) })
