/**
 * Reads on after interim responses. undici ends a connection at a `100 Continue` or a `101`, though a client has to read on after any 1xx that it
 * did not ask for (RFC 9110, section 15.2). At a 103 it reads on, so the filter gives it these two as 103.
 */
import type { Socket } from 'node:net'

const statusAt = 'HTTP/1.1 '.length
const headEnd = '\r\n\r\n'

/** Changes the status of interim responses in place. The bytes may be cut anywhere. `begin`: a request is sent, and its answer comes next. */
export function createInterimFilter() {
  /** Characters read of the status line, up to the status. Undefined: a final response, whose bytes stay as they are. */
  let line: string | undefined = ''
  /** Characters of the end of an interim head that were just read. */
  let ended = 0

  const pass = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length && line !== undefined; at += 1) {
      const char = String.fromCharCode(chunk[at] ?? 0)
      if (line.length < statusAt + 3) {
        line += char
        if (line.length < statusAt + 3) continue
        if (!/^HTTP\/1\.[01] 1\d\d$/.test(line)) line = undefined
        else if (/0[01]$/.test(line)) chunk[at] = '3'.charCodeAt(0)
        ended = 0
        continue
      }
      ended = char === headEnd[ended] ? ended + 1 : Number(char === '\r')
      if (ended === headEnd.length) line = ''
    }
  }
  return {
    pass,
    begin: () => {
      line ??= ''
    },
  }
}

/** Puts the filter between the socket of a connection and undici, which takes its bytes by `read`. One request at a time is on a connection. */
export function readOnAfterInterim(socket: Socket): Socket {
  const filter = createInterimFilter()
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...given: readonly unknown[]) => boolean
  socket.read = (size?: number) => {
    const chunk = read(size) as Buffer | null
    if (chunk !== null) filter.pass(chunk)
    return chunk
  }
  socket.write = ((...given: readonly unknown[]) => {
    filter.begin()
    return write(...given)
  }) as Socket['write']
  return socket
}
