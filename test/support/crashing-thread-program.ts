/** See `crashing-thread.ts`. */
import { existsSync, writeFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import '../../service/src/webhooks/exchange/thread-program.ts'
import type { RequestBatch } from '../../service/src/webhooks/exchange/batches.ts'

const { searchParams } = new URL(import.meta.url)
const once = searchParams.get('once')
let left = Number(searchParams.get('nth'))

const mustFail = () => {
  left -= 1
  if (left > 0 || (once !== null && existsSync(once))) return false
  if (once !== null) writeFileSync(once, '')
  return true
}

parentPort?.on('message', ({ data }: RequestBatch) => {
  if (data.some((text) => text.includes('CRASHES')) && mustFail()) throw new Error('crash requested by the test')
  if (data.some((text) => text.includes('HANGS')) && mustFail()) for (;;);
})
