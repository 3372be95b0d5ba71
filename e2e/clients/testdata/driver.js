'use strict'
// The driver of the Node client: node driver.js SOCKET OUTFILE THREADS SECONDS. Each thread is a
// worker thread with a client of its own.
const fs = require('node:fs')
const { Worker, isMainThread, workerData, parentPort } = require('node:worker_threads')
const { Client, FlakewardError } = require('../../../clients/node/flakeward.js')

const chunk = 1 << 20

async function take ({ path, out, number, seconds }) {
  const ids = new Client(path)
  const begun = performance.now()
  const end = begun + seconds * 1000
  const record = out !== '-'
  const file = record ? fs.openSync(`${out}.${number}`, 'w') : -1
  let kept = Buffer.alloc(chunk)
  let at = 0
  const keep = id => {
    if (at === chunk) {
      fs.writeSync(file, kept)
      at = 0
    }
    at = kept.writeBigUInt64BE(id, at)
  }
  const times = []
  let taken = 0
  let errors = 0
  while (performance.now() < end) {
    try {
      if (record) for (let i = 1; i < 1000; i++) keep(await ids.next())
      else for (let i = 1; i < 1000; i++) await ids.next()
      const before = process.hrtime.bigint()
      const id = await ids.next()
      times.push(Number(process.hrtime.bigint() - before))
      if (record) keep(id)
      taken += 1000
    } catch (error) {
      if (!(error instanceof FlakewardError)) throw error
      errors++
    }
  }
  const took = (performance.now() - begun) / 1000
  ids.close()
  if (record) {
    fs.writeSync(file, kept, 0, at)
    taken = fs.fstatSync(file).size / 8
  }
  return { rate: taken / took, times, errors }
}

async function main () {
  const [path, out, threads, seconds] = process.argv.slice(2)
  const workers = Array.from({ length: Number(threads) }, (_, number) => {
    const data = { path, out, number, seconds: Number(seconds) }
    if (threads === '1') return take(data)
    return new Promise((resolve, reject) => {
      const worker = new Worker(__filename, { workerData: data })
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  })
  const results = await Promise.all(workers)
  const sum = of => results.reduce((n, r) => n + of(r), 0)
  const times = results.flatMap(r => r.times).sort((a, b) => a - b)
  const p99 = times[Math.floor(times.length * 0.99)] ?? 0
  console.log(`FIGURE node threads=${threads} ids_per_s=${Math.round(sum(r => r.rate))} p99_ns=${p99} errors=${sum(r => r.errors)}`)
}

if (isMainThread) main()
else take(workerData).then(result => parentPort.postMessage(result))
