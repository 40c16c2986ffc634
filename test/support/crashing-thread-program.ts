/** See `mortal-thread.ts`. */
import { existsSync, writeFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'
import '../../service/src/delivery/exchange/thread-program.ts'
import type { RequestBatch } from '../../service/src/delivery/exchange/batches.ts'

const { searchParams } = new URL(import.meta.url)
const once = searchParams.get('once')
let left = Number(searchParams.get('nth'))

const meansIt = () => {
  left -= 1
  if (left > 0 || (once !== null && existsSync(once))) return false
  if (once !== null) writeFileSync(once, '')
  return true
}

parentPort?.on('message', ({ data }: RequestBatch) => {
  if (data.some((text) => text.includes('DIES')) && meansIt()) throw new Error('as the test asked')
  if (data.some((text) => text.includes('HANGS')) && meansIt()) for (;;);
})
