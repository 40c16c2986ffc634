/**
 * The answer of an operation with `streamed` content: its length is not known before. The deadline of a request ends with
 * the head of its answer. The next part is made when the socket has taken the one before, so that a stream holds one part
 * in memory. A stream that fails breaks the connection without the last chunk, so that no part of it looks whole.
 */
import { Readable } from 'node:stream'
import type { Stream } from '../../kernel/api/index.ts'
import { minuteMs } from '../../kernel/index.ts'

type StreamReply = {
  readonly status: 200
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readable
}

/** The longest pause of a reader. A paused reader costs a socket and one part in memory. */
const readerPauseMsMax = minuteMs

export function streamReply({ mediaType, fileName, read, closed }: Stream, pauseMsMax = readerPauseMsMax): StreamReply {
  const giveUp = () => body.destroy(new Error('the client does not read the stream'))
  // From the start: an answer that is never sent must not stay open.
  let timer = setTimeout(giveUp, pauseMsMax)
  async function* parts() {
    for await (const part of read()) {
      yield part
      clearTimeout(timer)
      timer = setTimeout(giveUp, pauseMsMax)
    }
  }
  const body: Readable = Readable.from(parts(), { objectMode: false, highWaterMark: 1 })
  body.once('close', () => {
    clearTimeout(timer)
    closed()
  })
  // Without a listener an error would end the process. The server closes the connection.
  body.on('error', () => undefined)
  return {
    status: 200,
    headers: { 'content-type': mediaType, 'content-disposition': `attachment; filename="${fileName}"` },
    body,
  }
}
