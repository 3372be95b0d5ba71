// A stand-in for node-redis 6, which Debian does not have: what a program of the documents needs of it. It connects
// with the same requests, and turns the replies of RESP3 into the same values: a map into an object without a
// prototype, a big number into a BigInt, other numbers into numbers. It is none of its code.
const net = require('net')

// reply reads the reply at a place of a buffer: its value, and where it ends; undefined: more bytes are needed.
function reply (buffer, at) {
  const lineEnd = buffer.indexOf('\r\n', at)
  if (lineEnd < 0) return
  const kind = String.fromCharCode(buffer[at])
  const text = buffer.toString('latin1', at + 1, lineEnd)
  const end = lineEnd + 2
  switch (kind) {
    case '+': return { value: text, end }
    case '-': return { value: new Error(text), end }
    case ':': case ',': return { value: Number(text), end }
    case '(': return { value: BigInt(text), end }
    case '#': return { value: text === 't', end }
    case '_': return { value: null, end }
    case '$': case '=': {
      const length = Number(text)
      if (buffer.length < end + length + 2) return
      const from = kind === '=' ? end + 4 : end
      return { value: buffer.toString('utf8', from, end + length), end: end + length + 2 }
    }
    case '*': case '%': case '>': case '~': {
      let next = end
      const all = []
      for (let n = Number(text) * (kind === '%' ? 2 : 1); n > 0; n--) {
        const one = reply(buffer, next)
        if (one === undefined) return
        all.push(one.value)
        next = one.end
      }
      if (kind !== '%') return { value: all, end: next }
      const map = Object.create(null)
      for (let i = 0; i < all.length; i += 2) map[all[i]] = all[i + 1]
      return { value: map, end: next }
    }
    default: throw new Error('a reply that begins ' + kind)
  }
}

class Client {
  constructor (options) {
    this.options = options
    this.waiting = []
    this.unread = Buffer.alloc(0)
  }

  async connect () {
    this.socket = net.createConnection(this.options.socket)
    this.socket.on('data', chunk => {
      this.unread = Buffer.concat([this.unread, chunk])
      for (let one; (one = reply(this.unread, 0)) !== undefined;) {
        this.unread = this.unread.subarray(one.end)
        const { resolve, reject } = this.waiting.shift()
        one.value instanceof Error ? reject(one.value) : resolve(one.value)
      }
    })
    const hello = await this.sendCommand(['HELLO', '3'])
    if (hello.proto !== 3) throw new Error('the server does not speak RESP3')
    await this.sendCommand(['CLIENT', 'SETINFO', 'LIB-VER', '6.2.1'])
    await this.sendCommand(['CLIENT', 'SETINFO', 'LIB-NAME', 'node-redis'])
  }

  sendCommand (args) {
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject })
      this.socket.write('*' + args.length + '\r\n' + args.map(a => '$' + Buffer.byteLength(a) + '\r\n' + a + '\r\n').join(''))
    })
  }

  async quit () {
    await this.sendCommand(['QUIT'])
    this.socket.end()
  }
}

module.exports = { createClient: options => new Client(options) }
