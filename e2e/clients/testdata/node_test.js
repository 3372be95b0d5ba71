'use strict'
// Tests of flakeward.js, on stand-ins for a daemon and on the daemon at FLAKEWARD_SOCKET.
const assert = require('node:assert').strict
const { test } = require('node:test')
const childProcess = require('node:child_process')
const cluster = require('node:cluster')
const fs = require('node:fs')
const net = require('node:net')
const os = require('node:os')
const path = require('node:path')
const { performance } = require('node:perf_hooks')
const { Worker, isMainThread, parentPort } = require('node:worker_threads')
const flakeward = require('../../../clients/node/flakeward.js')
const { Client } = flakeward

const REAL = process.env.FLAKEWARD_SOCKET
const CLUSTER = '0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10'
const bulk = text => `$${text.length}\r\n${text}\r\n`

/**
 * A stand-in that answers RUN with the numbers from 1 on. answer(words, number, conn) may return
 * another reply. After one that is no whole line the connection ends, and null is no reply at all.
 */
async function standIn (t, answer = () => undefined) {
  const daemon = { runs: [], last: 0, answer, path: path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'fw')), 's') }
  daemon.run = n => {
    daemon.runs.push(n)
    const first = daemon.last + 1
    daemon.last += n
    return `*3\r\n:1\r\n:${first}\r\n:${n}\r\n`
  }
  let connections = 0
  const conns = new Set()
  const server = net.createServer(conn => {
    const number = connections++
    conns.add(conn)
    let input = ''
    conn.on('error', () => {})
    conn.on('data', bytes => {
      input += bytes
      for (;;) {
        const lines = input.split('\r\n')
        const whole = 1 + 2 * Number(lines[0].slice(1))
        if (lines.length <= whole) return
        const words = lines.slice(0, whole).filter((_, i) => i > 0 && i % 2 === 0)
        input = lines.slice(whole).join('\r\n')
        let reply = daemon.answer(words, number, conn)
        if (reply === null) continue
        reply ??= words[0] === 'INFO' ? bulk(`max_count:65536\r\ncluster_id:${CLUSTER}\r\n`) : daemon.run(Number(words[1]))
        conn.write(reply)
        if (!reply.endsWith('\r\n')) conn.end()
      }
    })
  })
  await new Promise(resolve => server.listen(daemon.path, resolve))
  t.after(() => {
    conns.forEach(conn => conn.destroy())
    server.close()
    fs.rmSync(path.dirname(daemon.path), { recursive: true })
  })
  return daemon
}

function open (t, ...args) {
  const ids = new Client(...args)
  t.after(() => ids.close())
  return ids
}

/** A clock that the test moves, in place of both clocks. */
function clock (t) {
  const c = { now: 1000 }
  t.mock.method(performance, 'now', () => c.now)
  t.mock.method(Date, 'now', () => 1e12 + c.now)
  return c
}

const rising = ids => ids.every((id, i) => i === 0 || ids[i - 1] < id)

async function many (ids, n) {
  const got = []
  for (let i = 0; i < n; i++) {
    got.push(await ids.next())
    if (i % 100 === 0) got.push(...await ids.take(1 + i % 7))
  }
  return got
}

// What a child process, a worker of the cluster, or a worker thread does: it sends its IDs.
if (process.argv[2] === 'child' || !isMainThread) {
  const ids = new Client(REAL)
  many(ids, 5000).then(got => {
    ids.close()
    got = got.map(String)
    if (!isMainThread) parentPort.postMessage(got)
    else process.send(got, () => process.disconnect())
  })
} else {
  test('an ID is no older than maxAge', async t => {
    const c = clock(t)
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3 })
    while (daemon.last < 100) await ids.next()
    const [asked, issued] = [daemon.runs.length, daemon.last]
    c.now += 3600e3 - 1
    assert(await ids.next() <= issued)
    assert.equal(daemon.runs.length, asked)
    c.now += 1
    assert(await ids.next() > issued)
  })

  test('the time in which the machine was suspended counts', async t => {
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3 })
    while (daemon.last < 100) await ids.next()
    const issued = daemon.last
    const now = Date.now
    t.mock.method(Date, 'now', () => now() + 3601e3)
    assert(await ids.next() > issued)
  })

  test('a reply that was asked for too early is discarded', async t => {
    const c = clock(t)
    let held = null
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3 })
    await ids.take(1000)
    await ids.next()
    daemon.answer = (words, number, conn) => {
      if (held) return
      held = () => conn.write(daemon.run(Number(words[1])))
      return null
    }
    while (!held) {
      await ids.next()
      await new Promise(setImmediate)
    }
    c.now += 3600e3
    const next = ids.next()
    const before = daemon.last
    held()
    const issued = daemon.last
    assert(issued > before)
    assert(await next > issued)
  })

  test('without maxAge each call asks', async t => {
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 0 })
    for (let i = 1n; i <= 20n; i++) assert.equal(await ids.next(), i)
    assert.deepEqual(daemon.runs, Array(20).fill(1))
  })

  test('more is asked for ahead of need', async t => {
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3 })
    await ids.take(1000)
    await ids.next()
    const [asked, n] = [daemon.runs.length, daemon.runs.at(-1)]
    assert(n > 1000)
    for (let i = 0; i <= n * 3 / 4; i++) await ids.next()
    while (daemon.runs.length === asked) await new Promise(setImmediate)
    assert(await ids.next() <= daemon.last - daemon.runs.at(-1)) // there is stock yet
  })

  test('take', async t => {
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3 })
    const got = []
    for (const n of [1, 3, 100_000, 1, 70, 65_536, 200_000]) {
      const part = await ids.take(n)
      assert.equal(part.length, n)
      for (const id of part) got.push(id)
      got.push(await ids.next())
    }
    assert(rising(got))
    assert(Math.max(...daemon.runs) <= 65_536)
    for (const n of [0, -1, 1.5, '7', NaN]) await assert.rejects(ids.take(n), RangeError)
  })

  test('a lost reply costs IDs and repeats none', async t => {
    for (const cut of ['-', '*3\r\n:1\r\n:1', '*3\r\n:1\r\n:17\r\n:1', '*']) {
      const daemon = await standIn(t)
      daemon.answer = words => {
        if (words[0] !== 'RUN' || daemon.runs.length % 5 !== 4) return
        daemon.run(Number(words[1]))
        return cut
      }
      const ids = open(t, daemon.path)
      const got = [...await many(ids, 300), ...await ids.take(100)]
      assert(rising(got))
      assert(got.at(-1) <= daemon.last)
    }
  })

  test('steps, several runs, and IDs above 2^53, as BigInts and as strings', async t => {
    const daemon = await standIn(t, words => {
      if (words[0] === 'RUN') return words[1] === '7' ? '*5\r\n:10\r\n:100\r\n:3\r\n:1000\r\n:4\r\n' : '*3\r\n:1\r\n:9223372036854775806\r\n:2\r\n'
    })
    const ids = open(t, daemon.path, { maxAge: 0 })
    assert.deepEqual(await ids.take(7), [100n, 110n, 120n, 1000n, 1010n, 1020n, 1030n])
    assert.deepEqual(await ids.take(2), [2n ** 63n - 2n, 2n ** 63n - 1n])
    const strings = open(t, daemon.path, { maxAge: 0, strings: true })
    assert.deepEqual(await strings.take(2), ['9223372036854775806', '9223372036854775807'])
    const more = open(t, (await standIn(t)).path, { maxAge: 3600e3, strings: true })
    assert.deepEqual((await many(more, 50)).slice(0, 3), ['1', '2', '3'])
  })

  test('replies in pieces', async t => {
    const daemon = await standIn(t)
    daemon.answer = (words, number, conn) => {
      const reply = words[0] === 'INFO' ? bulk('max_count:65536\r\n') : daemon.run(Number(words[1]))
      const pieces = [...reply]
      const send = () => pieces.length > 0 && conn.write(pieces.shift(), () => setImmediate(send))
      send()
      return null
    }
    assert(rising(await many(open(t, daemon.path), 50)))
  })

  test('many tasks', async t => {
    for (const options of [{}, { maxAge: 0 }]) {
      const ids = open(t, REAL, options)
      const each = await Promise.all(Array.from({ length: 200 }, () => many(ids, 100)))
      assert(each.every(rising))
      const all = each.flat()
      assert.equal(new Set(all).size, all.length)
    }
  })

  test('what the daemon says', async t => {
    const error = await open(t, REAL, { tenant: 16 }).next().catch(e => e)
    assert(error instanceof flakeward.RefusedError)
    assert.equal(error.code, 'ERR')
    assert.match(error.text, /tenant/)
    assert(error.message.includes(error.text))
  })

  test('unavailable', async t => {
    const daemon = await standIn(t)
    daemon.answer = words => {
      if (words[0] !== 'RUN') return
      daemon.answer = () => {}
      return '-UNAVAILABLE the grant has ended; try again later\r\n'
    }
    const ids = open(t, daemon.path)
    const error = await ids.next().catch(e => e)
    assert(error instanceof flakeward.UnavailableError)
    assert.deepEqual([error.code, error.text], ['UNAVAILABLE', 'the grant has ended; try again later'])
    assert.equal(await ids.next(), 1n)
  })

  test('fewer', async t => {
    for (const now of [' now', '']) {
      const daemon = await standIn(t)
      daemon.answer = words => {
        if (words[0] !== 'RUN') return
        daemon.answer = () => {}
        return `-UNAVAILABLE 1000 IDs cannot be had within 2s: at most 300 can${now}; code=count-too-large\r\n`
      }
      assert.equal((await open(t, daemon.path).take(1000)).length, 1000)
      assert.equal(daemon.runs[0], 300)
      assert.equal(daemon.runs.length, now ? 2 : 4)
    }
  })

  test('too many connections is tried again, and not allowed is not', async t => {
    const daemon = await standIn(t, (words, number) => number < 3 ? '-ERR too many connections\r\n-' : undefined)
    assert.equal(await open(t, daemon.path, { timeout: 60e3 }).next(), 1n)
    const other = await standIn(t, () => '-ERR not allowed: UID 7\r\n-')
    await assert.rejects(open(t, other.path, { timeout: 60e3 }).next(), { name: 'RefusedError', code: 'ERR', text: 'not allowed: UID 7' })
  })

  test('a connection that is refused before anything is sent says why', async t => {
    const where = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'fw')), 's')
    const server = net.createServer(conn => conn.on('error', () => {}).end('-ERR not allowed: UID 7\r\n'))
    await new Promise(resolve => server.listen(where, resolve))
    t.after(() => server.close())
    await assert.rejects(open(t, where).next(), { name: 'RefusedError', text: 'not allowed: UID 7' })
  })

  test('no daemon', async t => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'fw'))
    t.after(() => fs.rmSync(dir, { recursive: true }))
    for (const [where, advice] of [[dir + '/none', /no such socket/], [dir, /no daemon listens/], [dir + '/' + 'x'.repeat(200), /too long/]]) {
      const ids = open(t, where, { timeout: 20 })
      for (const call of [ids.next(), ids.take(5)]) {
        const error = await call.catch(e => e)
        assert(error instanceof flakeward.UnreachableError)
        assert.match(error.text, advice)
        assert(error.message.includes(where))
        assert.equal(error.code, 'UNREACHABLE')
      }
    }
  })

  test('a daemon that comes later', async t => {
    const daemon = await standIn(t)
    const next = open(t, daemon.path + '2', { timeout: 60e3 }).next()
    fs.renameSync(daemon.path, daemon.path + '2')
    assert.equal(await next, 1n)
  })

  test('a daemon that is silent', async t => {
    let late = null
    const daemon = await standIn(t)
    daemon.answer = (words, number, conn) => {
      if (words[0] !== 'RUN' || late) return
      late = () => conn.write(daemon.run(Number(words[1])))
      return null
    }
    const ids = open(t, daemon.path, { timeout: 50 })
    while (!late) await assert.rejects(ids.next(), { name: 'NoReplyError', code: 'TIMEOUT' })
    const next = ids.next()
    late()
    assert(await next >= 1n)
  })

  test('a daemon that hangs is left', async t => {
    const setTimeout = net.Socket.prototype.setTimeout
    const waits = []
    t.mock.method(net.Socket.prototype, 'setTimeout', function (ms, hung) {
      waits.push(ms)
      return setTimeout.call(this, 200, hung)
    })
    let hangs = false
    const daemon = await standIn(t)
    daemon.answer = (words, number) => {
      if (number > 0 || words[0] !== 'RUN' || daemon.runs.length === 0) return
      hangs = true
      return null
    }
    const ids = open(t, daemon.path, { timeout: 60e3, maxAge: 0 })
    assert.deepEqual([await ids.next(), await ids.next(), await ids.next()], [1n, 2n, 3n]) // the second connection gave the others
    assert(hangs)
    await open(t, daemon.path, { maxAge: 0 }).next()
    assert.deepEqual(waits, [60e3, 60e3, 5000])
  })

  test('IDs above 2^63-1', async t => {
    for (const reply of ['*3\r\n:1\r\n:9223372036854775807\r\n:2\r\n', '*3\r\n:1\r\n:9223372036854775808\r\n:2\r\n', '*3\r\n:1000000000000000000\r\n:9000000000000000000\r\n:2\r\n']) {
      const daemon = await standIn(t, words => words[0] === 'RUN' ? reply : undefined)
      await assert.rejects(open(t, daemon.path, { maxAge: 0 }).take(2), { name: 'ProtocolError', text: /IDs above 2\^63-1/ }, reply)
    }
  })

  test('a loop that was busy for longer than the timeout is no error', async t => {
    const ids = open(t, REAL, { timeout: 1000, maxAge: 0 })
    await ids.next()
    const next = ids.next()
    for (const end = performance.now() + 1100; performance.now() < end;);
    assert(await next > 0n)
  })

  test('another program', async t => {
    for (const reply of ['HTTP/1.1 400 Bad Request\r\n', bulk('redis_version:7\r\n')]) {
      const daemon = await standIn(t, () => reply)
      await assert.rejects(open(t, daemon.path).next(), { name: 'ProtocolError', code: 'PROTOCOL' })
    }
    for (const reply of [':1\r\n', '*2\r\n:1\r\n:2\r\n', '*3\r\n:1\r\n:5\r\n:2\r\n', '*3\r\n:0\r\n:5\r\n:1\r\n', '*3\r\n:1\r\n:+5\r\n:1\r\n',
      '*3\r\n:1\r\n:-5\r\n:1\r\n', '*5\r\n:1\r\n:5\r\n:1\r\n:9\r\n:0\r\n', '*99999\r\n']) {
      const daemon = await standIn(t, words => words[0] === 'RUN' ? reply : undefined)
      await assert.rejects(open(t, daemon.path).next(), { name: 'ProtocolError' }, reply)
    }
  })

  test('cluster', async t => {
    const daemon = await standIn(t)
    assert.equal(await open(t, daemon.path, { cluster: CLUSTER.toUpperCase() }).next(), 1n)
    const other = CLUSTER.slice(0, -1) + '1'
    await assert.rejects(open(t, daemon.path, { cluster: other, timeout: 60e3 }).next(), { name: 'ClusterError', code: 'CLUSTER', text: new RegExp(`is in cluster ${CLUSTER},`) })
    assert.equal(daemon.runs.length, 1)
    const late = await standIn(t, (words, number) => number < 2 && words[0] === 'INFO' ? bulk('max_count:10\r\ncluster_id:\r\n') : undefined)
    assert.equal(await open(t, late.path, { cluster: CLUSTER, timeout: 60e3 }).next(), 1n)
  })

  test('options', () => {
    for (const [where, options] of [['', {}], ['s', { maxAge: -1 }], ['s', { maxAge: 3600e3 + 1 }], ['s', { timeout: 0 }], ['s', { tenant: 'a b' }], ['s', { tenant: 'a\r\nQUIT' }]]) {
      assert.throws(() => new Client(where, options), RangeError)
    }
  })

  test('close', async t => {
    const daemon = await standIn(t)
    const ids = open(t, daemon.path, { maxAge: 3600e3, timeout: 60e3 })
    await ids.take(100)
    await ids.next()
    daemon.answer = () => null
    const waiting = [ids.take(10_000), ids.next(), ids.next()]
    ids.close()
    ids.close()
    for (const call of [...waiting, ids.next(), ids.take(1)]) await assert.rejects(call, { name: 'ClosedError', code: 'CLOSED' })
  })

  test('a program may end with a client open, and not while a call waits', async t => {
    const daemon = await standIn(t)
    const program = `
      const { Client } = require(${JSON.stringify(require.resolve('../../../clients/node/flakeward.js'))})
      const ids = new Client(${JSON.stringify(daemon.path)})
      ids.next().then(async () => { await ids.take(100); await ids.next(); console.log('done') })`
    const out = await new Promise((resolve, reject) => childProcess.execFile(process.execPath, ['-e', program], (error, out) => error ? reject(error) : resolve(out)))
    assert.equal(out, 'done\n')
  })

  test('an ES module imports it', async () => {
    const { Client: imported } = await import('../../../clients/node/flakeward.js')
    assert.equal(imported, Client)
  })

  test('each process and each thread has a stock of its own', async t => {
    cluster.setupPrimary({ exec: __filename, args: ['child'] })
    const answer = from => new Promise((resolve, reject) => {
      from.once('message', resolve)
      from.once('error', reject)
      from.once('exit', code => code === 0 || reject(new Error(`it ended with ${code}`)))
    })
    const all = await Promise.all([
      ...Array.from({ length: 3 }, () => answer(cluster.fork())),
      ...Array.from({ length: 3 }, () => answer(childProcess.fork(__filename, ['child']))),
      ...Array.from({ length: 3 }, () => answer(new Worker(__filename))),
      many(open(t, REAL), 5000).then(ids => ids.map(String))
    ])
    assert(all.every(ids => rising(ids.map(BigInt))))
    const ids = all.flat()
    assert.equal(ids.length, 10 * all[0].length)
    assert.equal(new Set(ids).size, ids.length)
  })
}
