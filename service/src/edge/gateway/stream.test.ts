/** A stream holds one part, ends when its reader does, and breaks when its source does. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { streamReply } from './stream.ts'

const file = { mediaType: 'application/jsonl', fileName: 'x.jsonl' }

/** `once` of Node rejects if an error comes before. */
const closeOf = (body: Readable) => new Promise<void>((resolve) => void body.once('close', resolve))

function source(parts: number, fail?: Error) {
  const state = { made: 0, ended: false, closed: 0 }
  async function* read() {
    try {
      for (; state.made < parts;) {
        state.made += 1
        yield Buffer.alloc(64 * 1024, 'x')
      }
      if (fail) throw fail
    } finally {
      state.ended = true
    }
  }
  return { state, stream: { ...file, read, closed: () => void (state.closed += 1) } }
}

test('a part is made when the reader has taken the one before', async () => {
  const { state, stream } = source(50)
  let taken = 0
  let ahead = 0
  const reader = new Writable({
    highWaterMark: 1,
    write: (_chunk, _encoding, done) => {
      taken += 1
      ahead = Math.max(ahead, state.made - taken)
      setImmediate(done)
    },
  })
  await pipeline(streamReply(stream).body, reader)
  assert.equal(taken, 50)
  assert.ok(ahead <= 2, `${ahead} parts were made ahead of the reader`)
  assert.deepEqual([state.ended, state.closed], [true, 1])
})

test('a reader that goes away ends the source, and is counted once', async () => {
  const { state, stream } = source(50)
  const { body } = streamReply(stream)
  await once(body, 'readable')
  body.read()
  body.destroy()
  await once(body, 'close')
  assert.ok(state.made < 5)
  assert.equal(state.closed, 1)
})

test('a reader that takes nothing is given up, and so is an answer that is never sent', async () => {
  for (const isRead of [true, false]) {
    const { state, stream } = source(50)
    const { body } = streamReply(stream, 5)
    if (isRead) body.read(0)
    await closeOf(body)
    assert.ok(body.destroyed && state.made < 5)
    assert.equal(state.closed, 1)
  }
})

test('a source that fails breaks the stream', async () => {
  const { state, stream } = source(3, new Error('the database is away'))
  const sink = new Writable({ write: (_chunk, _encoding, done) => done() })
  await assert.rejects(pipeline(streamReply(stream).body, sink), /the database is away/)
  assert.equal(state.closed, 1)
})
