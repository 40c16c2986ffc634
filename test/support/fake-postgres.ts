/** A server that implements enough of PostgreSQL's protocol to answer every query with a version number. */
import { once } from 'node:events'
import { createServer, type Socket, type AddressInfo } from 'node:net'

const int32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])
const int16 = (value: number) => Buffer.from([value >>> 8, value])
const message = (type: string, ...parts: readonly Buffer[]) => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body])
}
const text = (value: string) => Buffer.from(`${value}\0`)
const int4Type = 23
const ready = message('Z', Buffer.from('I'))

const description = message(
  'T',
  int16(1),
  text('version'),
  int32(0),
  int16(0),
  int32(int4Type),
  int16(4),
  int32(-1),
  int16(0),
)
const answerOf = (version: string): Readonly<Record<string, Buffer>> => ({
  P: message('1'),
  B: message('2'),
  D: description,
  E: Buffer.concat([
    message('D', int16(1), int32(version.length), Buffer.from(version)),
    message('C', text('SELECT 1')),
  ]),
  S: ready,
})

function serve(socket: Socket, version: string): void {
  let buffer = Buffer.alloc(0)
  let isStarted = false
  const answers = answerOf(version)
  socket.on('error', () => undefined)
  socket.on('data', (chunk: Buffer) => {
    buffer = Buffer.concat([buffer, chunk])
    for (;;) {
      const header = isStarted ? 1 : 0
      if (buffer.length < header + 4) return
      const length = header + buffer.readInt32BE(header)
      if (buffer.length < length) return
      const type = isStarted ? String.fromCharCode(buffer[0] ?? 0) : ''
      buffer = buffer.subarray(length)
      if (!isStarted) socket.write(Buffer.concat([message('R', int32(0)), ready]))
      else if (answers[type]) socket.write(answers[type])
      isStarted = true
    }
  })
}

export async function fakePostgres(version: string) {
  const server = createServer((socket) => serve(socket, version)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `postgres://anyone@127.0.0.1:${port}/any`, close: () => server.close() }
}
