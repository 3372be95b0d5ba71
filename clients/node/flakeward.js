'use strict'

/**
 * IDs from the flakeward daemon on this host, for Node 18 and later: copy this file.
 *
 *     const { Client } = require('./flakeward.js')  // or: import { Client } from './flakeward.js'
 *
 *     const ids = new Client('/run/flakeward/flakeward.sock')
 *     const id = await ids.next()        // a BigInt, or a string with { strings: true }
 *     const many = await ids.take(1000)  // an array
 *     ids.close()
 *
 * A program opens one client. The client asks for IDs ahead of need, in runs, and keeps them as its
 * stock. Each call checks the age of its ID: an ID older than maxAge is discarded. How many IDs the
 * client asks for follows the demand: about as many as are used within half of maxAge. At less than
 * one ID in that time there is no stock, and each call asks the daemon. IDs that were discarded, or
 * were in a lost reply, are never handed out.
 *
 * Each process of the module cluster and each worker thread that opens a client has a stock of its
 * own. A client without a call that waits does not keep the process from its exit.
 *
 * IDs rise in the order of the calls, with the exceptions that docs/guarantees.md names.
 */

const net = require('node:net')
const { performance } = require('node:perf_hooks')

const DEFAULT_SOCKET = '/run/flakeward/flakeward.sock'
const GREETING = 1000 // ms in which an attempt to connect has to be answered
const PATIENCE = 5000 // ms without an answer after which a connection is given up, unless the timeout is longer
const HIGHEST = 2n ** 63n - 1n // ID
const FIRST_DELAY = 5
const LONGEST_DELAY = 500
const LONGEST_LINE = 64 << 10
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103 // libuv cuts longer ones
const HOPELESS = new Set(['EACCES', 'EPERM', 'EINVAL', 'ENOTSOCK', 'ENAMETOOLONG']) // until somebody changes something

/**
 * What all errors of this module are. code is one word in capitals. text says what is wrong and
 * what to do.
 */
class FlakewardError extends Error {
  constructor (code, text, options) {
    super(`flakeward: ${code}: ${text}`, options)
    this.name = this.constructor.name
    this.code = code
    this.text = text
  }
}

/** The daemon refused the request, and would refuse it again. code and text are the daemon's. */
class RefusedError extends FlakewardError {}

/** The daemon cannot issue IDs now, and has waited for that already. A retry is safe. */
class UnavailableError extends RefusedError {}

/** No daemon is reached at the socket. The code is UNREACHABLE. */
class UnreachableError extends FlakewardError {}

/** The daemon has not answered within the timeout. The code is TIMEOUT. */
class NoReplyError extends FlakewardError {}

/** The daemon is not in the cluster that is demanded. The code is CLUSTER. */
class ClusterError extends FlakewardError {}

/** The listener at the socket is no flakeward daemon. The code is PROTOCOL. */
class ProtocolError extends FlakewardError {}

/** The client is closed. The code is CLOSED. */
class ClosedError extends FlakewardError {
  constructor () { super('CLOSED', 'the client is closed') }
}

const ADVICE = {
  ENOENT: 'there is no such socket; start a daemon, or name the socket of a running one',
  ECONNREFUSED: 'no daemon listens there; start the daemon',
  EACCES: "this user may not use the socket; the daemon's --socket-mode and --socket-group say who may",
  ENAMETOOLONG: 'the path is too long for a socket'
}

function unreachable (path, cause) {
  const advice = ADVICE[cause.code] ?? "`flakeward status --socket` shows the daemon's state"
  return new UnreachableError('UNREACHABLE', `no daemon is reached at the socket ${path}: ${advice} (${cause.message})`, { cause })
}

/** IDs in stock: left of them, from next on. */
class Run {
  constructor (next, step, left, until, wall, ask) {
    this.next = next
    this.step = step
    this.left = left
    this.until = until // by the monotonic clock
    this.wall = wall // and by the wall clock, which goes on while the machine is suspended
    this.ask = ask // when the run begins, it is time to ask for more
  }

  young () { return performance.now() < this.until && Date.now() <= this.wall }

  take () {
    const id = this.next
    this.next += this.step
    this.left--
    return id
  }
}

const NOTHING = new Run(0n, 0n, 0, -Infinity, -Infinity, false)

class Client {
  #path; #maxAge; #timeout; #cluster; #strings; #request
  #closed = false

  // Stock. While a call waits there is none.
  #run = NOTHING
  #behind = []

  // Demand.
  #handed = 0 // IDs handed out
  #handedAt = 0 // and until the last request
  #askedAt = NaN // the time of the last request
  #ids = 0 // IDs and milliseconds between requests, each counted 3/4 of the next
  #ms = 1e-6

  // The connection.
  #socket = null
  #greeted = false
  #input = Buffer.alloc(0)
  #pending = null // the request whose reply has not come
  #most = 1 // IDs in a request
  #mostNext = 1 // and in the next one
  #worked = false // the connection has brought a reply
  #failures = 0 // attempts since the last reply
  #failure = null // of the last attempt; null: there is a connection
  #pause = null // the timer of the next attempt
  #sends = 0 // requests so far
  #waiting = new Set() // calls, the first one first

  /**
   * IDs of the daemon at a socket. The constructor does not connect: the first call does.
   *
   * @param {string} [path]
   * @param {object} [options]
   * @param {number} [options.maxAge] milliseconds that an ID may have been in stock, from 0 (each
   *   call asks the daemon) to 3,600,000; 5 by default
   * @param {number} [options.timeout] milliseconds that a call waits at most, 5000 by default.
   *   Meanwhile the client reconnects, so that a restart of the daemon is not noticed. A connection
   *   without an answer for that long, and for 5 s, is given up
   * @param {number} [options.tenant] a number of the layout's tenants
   * @param {string} [options.cluster] take IDs only of the cluster with this UUID, the cluster_id
   *   of `flakeward status`
   * @param {boolean} [options.strings] hand out strings of decimal digits in place of BigInts
   */
  constructor (path = DEFAULT_SOCKET, { maxAge = 5, timeout = 5000, tenant = 0, cluster = '', strings = false } = {}) {
    if (typeof path !== 'string' || path === '') throw new RangeError('flakeward: the path of the socket is empty; `flakeward status` shows it')
    if (!(maxAge >= 0 && maxAge <= 3600e3)) throw new RangeError(`flakeward: maxAge is ${maxAge}; 0 to 3600000 milliseconds are allowed`)
    if (!(timeout > 0 && timeout < 2 ** 31)) throw new RangeError(`flakeward: timeout is ${timeout}; more than 0 milliseconds are allowed`)
    if (!/^[0-9]{1,10}$/.test(tenant)) throw new RangeError(`flakeward: tenant is ${JSON.stringify(tenant)}; a number is allowed`)
    this.#path = path
    this.#maxAge = maxAge
    this.#timeout = timeout
    this.#cluster = cluster
    this.#strings = strings
    this.#request = n => String(tenant) === '0' ? ['RUN', n] : ['RUN', n, 'TENANT', String(tenant)]
  }

  /**
   * An ID.
   *
   * @returns {Promise<bigint|string>} rejected with a FlakewardError if the daemon refuses, or
   *   after the timeout
   */
  async next () {
    const run = this.#run
    if (run.left > 0 && run.young()) {
      this.#handed++
      const id = run.take()
      return this.#strings ? String(id) : id
    }
    return (await this.#take(1))[0]
  }

  /**
   * n IDs.
   *
   * @param {number} n
   * @returns {Promise<Array<bigint|string>>}
   */
  async take (n) {
    if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`flakeward: ${n} IDs cannot be taken; ask for 1 or more`)
    return this.#take(n)
  }

  /** Ends the connection. Calls that wait and all later ones are rejected with a ClosedError. */
  close () {
    if (this.#closed) return
    this.#closed = true
    this.#drop()
    this.#run = NOTHING
    this.#behind = []
    this.#fail(() => true, new ClosedError())
  }

  // Taking.

  async #take (n) {
    for (;;) {
      if (this.#closed) throw new ClosedError()
      const call = { need: n, ids: [], until: null, own: false, sends: this.#sends }
      this.#drain(call)
      if (call.need > 0) await this.#wait(call)
      // What is from stock may have grown too old while this call waited.
      if (call.until && call.own && !call.until.young()) continue
      return this.#strings ? call.ids.map(String) : call.ids
    }
  }

  #move (run, call) {
    for (; run.left > 0 && call.need > 0; call.need--) {
      call.ids.push(run.take())
      this.#handed++
    }
  }

  /** Moves IDs from stock to a call. */
  #drain (call) {
    while (call.need > 0) {
      const run = this.#run
      if (run.left > 0 && run.young()) {
        call.until ??= run // the first one is the oldest
        this.#move(run, call)
        continue
      }
      this.#run = this.#behind.shift() ?? NOTHING
      if (this.#run === NOTHING) return
      if (this.#run.ask && this.#greeted && !this.#pending) {
        const n = this.#wanted()
        if (n >= 2) this.#send(n)
      }
    }
  }

  #wait (call) {
    return new Promise((resolve, reject) => {
      call.resolve = resolve
      call.reject = reject
      call.timer = setTimeout(() => {
        // After a long step of the program the reply may be there, and is read first.
        setImmediate(() => this.#fail(one => one === call, this.#failure ??
          new NoReplyError('TIMEOUT', `the daemon at the socket ${this.#path} has not answered within ${this.#timeout} ms; ` +
            '`flakeward status --socket` shows its state')))
      }, this.#timeout)
      call.sends = this.#sends
      this.#waiting.add(call)
      this.#socket?.ref()
      this.#pump()
    })
  }

  /** Lets go of a call that waits. */
  #leave (call) {
    clearTimeout(call.timer)
    this.#waiting.delete(call)
    if (this.#waiting.size > 0) return
    this.#socket?.unref()
    clearTimeout(this.#pause)
    this.#pause = null
  }

  #fail (which, error) {
    for (const call of this.#waiting) {
      if (!which(call)) continue
      this.#leave(call)
      call.reject(error)
    }
  }

  /**
   * Takes in the runs of a reply. Calls that wait come first. Those that waited when the request
   * was sent get its IDs whatever their age. The last quarter of the stock is a run of its own.
   */
  #stock ({ seq, until, wall }, step, pairs) {
    const runs = pairs.map(([first, n]) => new Run(first, step, n, until, wall, false))
    let at = 0
    for (const call of this.#waiting) {
      const own = call.sends < seq
      if (at === runs.length || (!own && !runs[at].young())) break
      while (at < runs.length && call.need > 0) {
        if (own) call.own = true
        else call.until ??= runs[at]
        this.#move(runs[at], call)
        if (runs[at].left === 0) at++
      }
      if (call.need > 0) break
      this.#leave(call)
      call.resolve()
    }
    const total = runs.slice(at).reduce((sum, run) => sum + run.left, 0)
    let mark = total - Math.floor(total / 4)
    for (const run of runs.slice(at)) {
      if (mark > 0 && mark < run.left) {
        this.#behind.push(new Run(run.next, step, mark, until, wall, false))
        run.next += step * BigInt(mark)
        run.left -= mark
        mark = 0
      }
      run.ask = mark === 0
      mark -= run.left
      this.#behind.push(run)
    }
  }

  // Demand.

  #recent (now) {
    if (Number.isNaN(this.#askedAt)) return [0, 1e-6]
    return [this.#ids * 0.75 + this.#handed - this.#handedAt, this.#ms * 0.75 + Math.max(now - this.#askedAt, 1e-6)]
  }

  /**
   * How many IDs to ask for: those of half of maxAge, and at most twice of what was used since the
   * last request. Below 2 there should be no stock.
   */
  #wanted () {
    const [ids, ms] = this.#recent(performance.now())
    return Math.min(Math.floor(ids / ms * this.#maxAge / 2 + 0.5), 2 * (this.#handed - this.#handedAt), this.#mostNext)
  }

  // Requests.

  /** Has the calls that wait served. */
  #pump () {
    if (this.#waiting.size === 0 || this.#pending || this.#pause || this.#closed) return
    if (!this.#socket) return this.#connect()
    if (!this.#greeted) return
    let need = 0
    for (const call of this.#waiting) need += call.need
    this.#send(Math.min(Math.max(need, this.#wanted()), this.#mostNext))
  }

  #send (n) {
    const now = performance.now();
    [this.#ids, this.#ms] = this.#recent(now)
    this.#handedAt = this.#handed
    this.#askedAt = now
    this.#mostNext = this.#most
    this.#pending = { n, seq: ++this.#sends, until: now + this.#maxAge, wall: Date.now() + Math.ceil(this.#maxAge) }
    this.#write(this.#request(String(n)))
  }

  #write (words) {
    this.#socket.write(`*${words.length}\r\n` + words.map(w => `$${w.length}\r\n${w}\r\n`).join(''))
  }

  // The connection.

  #connect () {
    if (Buffer.byteLength(this.#path) > LONGEST_PATH) {
      return this.#broken(Object.assign(new Error('the path has more than ' + LONGEST_PATH + ' bytes'), { code: 'ENAMETOOLONG' }))
    }
    const socket = net.connect(this.#path)
    this.#socket = socket
    const here = handle => (...args) => { if (socket === this.#socket) handle(...args) }
    socket.greeting = setTimeout(() => setImmediate(here(() => {
      if (!this.#greeted) this.#broken(new Error(`no greeting within ${GREETING} ms`))
    })), GREETING)
    // A daemon that hangs is left: by then another one may listen. After a long step of the program the
    // reply may be there, and is read first.
    const patience = Math.max(this.#timeout, PATIENCE)
    socket.setTimeout(patience, here(() => {
      const pending = this.#pending
      setImmediate(here(() => {
        if (pending && pending === this.#pending) this.#broken(new Error(`no answer within ${patience} ms`))
      }))
    }))
    socket.on('data', here(bytes => this.#read(bytes)))
    socket.on('error', here(error => this.#broken(error)))
    socket.on('close', here(() => this.#broken(new Error('the daemon ended the connection'))))
    // A daemon that refuses the connection says why at once: that is read before anything is sent.
    socket.on('connect', () => setImmediate(() => setImmediate(here(() => this.#write(['INFO', 'server', 'cluster'])))))
  }

  #drop () {
    const socket = this.#socket
    this.#socket = this.#pending = null
    this.#greeted = this.#worked = false
    this.#input = Buffer.alloc(0)
    clearTimeout(this.#pause)
    this.#pause = null
    if (!socket) return
    clearTimeout(socket.greeting)
    socket.on('error', () => {}) // what comes later is of no interest
    socket.destroy()
  }

  #broken (cause) {
    this.#retry(unreachable(this.#path, cause), HOPELESS.has(cause.code))
  }

  /** Goes on after the connection has become useless. */
  #retry (error, hopeless) {
    const worked = this.#worked
    this.#drop()
    if (hopeless) return this.#fail(() => true, error)
    if (this.#waiting.size === 0) return
    if (worked) return this.#pump() // it is made anew at once
    this.#failure = error
    const delay = Math.min(FIRST_DELAY * 2 ** Math.min(this.#failures++, 16), LONGEST_DELAY)
    this.#pause = setTimeout(() => {
      this.#pause = null
      this.#pump()
    }, delay / 2 + Math.random() * delay / 2)
  }

  #read (bytes) {
    this.#input = this.#input.length === 0 ? bytes : Buffer.concat([this.#input, bytes])
    try {
      while (this.#input.length > 0 && this.#reply());
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#retry(error, true)
    }
    this.#pump()
  }

  /** Takes in one reply, if it is whole. */
  #reply () {
    const end = this.#input.indexOf('\r\n')
    if (end < 0) {
      if (this.#input.length > LONGEST_LINE) throw this.#strange(this.#input)
      return false
    }
    const head = this.#input.toString('utf8', 0, end)
    if (head[0] === '-') {
      this.#input = this.#input.subarray(end + 2)
      this.#refused(head.slice(1))
      return true
    }
    if (!this.#greeted) return this.#greet(head, end + 2)
    if (!this.#pending) throw this.#strange(head)
    const count = this.#number(head, '*')
    if (count % 2 === 0 || count > 2 * this.#pending.n + 1) throw this.#strange(head)
    const numbers = []
    let from = end + 2
    for (let i = 0; i < count; i++) {
      const to = this.#input.indexOf('\r\n', from)
      if (to < 0) {
        if (this.#input.length - from > 32) throw this.#strange(this.#input.subarray(from))
        return false
      }
      const line = this.#input.toString('latin1', from, to)
      this.#number(line, ':')
      numbers.push(BigInt(line.slice(1)))
      from = to + 2
    }
    const pairs = []
    let sum = 0
    for (let i = 1; i < count; i += 2) {
      const n = Number(numbers[i + 1])
      if (n < 1) throw this.#strange(head)
      if (numbers[i] + numbers[0] * (numbers[i + 1] - 1n) > HIGHEST) throw this.#strange('IDs above 2^63-1')
      pairs.push([numbers[i], n])
      sum += n
    }
    if (sum !== this.#pending.n || numbers[0] < 1n) throw this.#strange(`${sum} IDs for RUN ${this.#pending.n}`)
    this.#input = this.#input.subarray(from)
    const pending = this.#pending
    this.#replied()
    this.#stock(pending, numbers[0], pairs)
    return true
  }

  #replied () {
    this.#pending = null
    this.#worked = true
    this.#failures = 0
  }

  #refused (line) {
    const [, code, text] = /^(\S*) ?(.*)$/s.exec(line)
    const error = new (code === 'UNAVAILABLE' ? UnavailableError : RefusedError)(code, text)
    const pending = this.#pending
    if (!this.#greeted || !pending) { // said unasked, before the connection ends
      return this.#retry(error, !text.startsWith('too many connections'))
    }
    this.#replied()
    const fewer = / IDs cannot be had within .*: at most (\d+) can( now)?/.exec(text)
    if (fewer && Number(fewer[1]) > 0 && Number(fewer[1]) < pending.n) {
      this.#mostNext = Number(fewer[1])
      if (!fewer[2]) this.#most = this.#mostNext
      return
    }
    this.#fail(call => call.sends < pending.seq, error)
  }

  #greet (head, from) {
    const whole = from + this.#number(head, '$') + 2
    if (this.#input.length < whole) return false
    const said = new Map(this.#input.toString('utf8', from, whole).split('\r\n').map(line => line.split(/:(.*)/s, 2)))
    this.#input = this.#input.subarray(whole)
    const most = said.get('max_count') ?? ''
    if (!/^[1-9]\d{0,8}$/.test(most)) throw this.#strange('INFO without max_count')
    // A connection is of one cluster: a daemon whose cluster becomes another one closes it.
    const found = said.get('cluster_id') ?? ''
    if (this.#cluster && found.toLowerCase() !== this.#cluster.toLowerCase()) {
      const where = found ? `is in cluster ${found}` : 'has not joined a cluster yet'
      this.#retry(new ClusterError('CLUSTER', `the daemon at the socket ${this.#path} ${where}, and IDs of cluster ${this.#cluster} are demanded; ` +
        'name the socket of a daemon of that cluster'), found !== '')
      return false
    }
    clearTimeout(this.#socket.greeting)
    this.#greeted = true
    this.#failure = null
    this.#most = this.#mostNext = Number(most)
    if (this.#waiting.size === 0) this.#socket.unref()
    return true
  }

  #number (line, kind) {
    if (line[0] !== kind || !/^\d{1,19}$/.test(line.slice(1))) throw this.#strange(line)
    return Number(line.slice(1))
  }

  #strange (what) {
    const reply = JSON.stringify(what.toString('latin1').slice(0, 40))
    return new ProtocolError('PROTOCOL', `the listener at the socket ${this.#path} is no flakeward daemon, as it replied ${reply}; correct the path`)
  }
}

module.exports = {
  Client,
  FlakewardError,
  RefusedError,
  UnavailableError,
  UnreachableError,
  NoReplyError,
  ClusterError,
  ProtocolError,
  ClosedError,
  DEFAULT_SOCKET
}
