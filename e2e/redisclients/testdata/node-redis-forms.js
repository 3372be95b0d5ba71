// node-redis: IDs as strings, by FORM for the connection and by AS in a request, 1,000 at a time and one by
// one; then, as it would be without, as numbers.
const redis = require('redis')

async function main () {
  const [,, way, count, socket] = process.argv
  const client = redis.createClient({ socket: { path: socket } })
  await client.connect()
  if (process.env.LIBRARY) await client.sendCommand(['CLIENT', 'SETINFO', 'LIB-NAME', process.env.LIBRARY])
  let as = []
  if (way === 'FORM') await client.sendCommand(['FORM', 'string'])
  if (way === 'AS') as = ['AS', 'base62']
  const lines = []
  for (let n = Number(count) / 2; n > 0; n -= 1000) lines.push(...await client.sendCommand(['NEXT', '1000', ...as]))
  for (let n = Number(count) / 2; n > 0; n -= 1000) {
    lines.push(...await Promise.all(Array.from({ length: 1000 }, () => client.sendCommand(['NEXT', ...as]))))
  }
  console.log(lines.join('\n'))
  await client.quit()
}
main().catch(err => { console.error(err); process.exit(1) })
