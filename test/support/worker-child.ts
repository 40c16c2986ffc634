/**
 * Runs a row of `workers.ts`: `node worker-child.ts <row> <crash at> <url, now and what the row is given, as JSON>`. Prints how many crash
 * points it passed, or crashes at the given one.
 */
import { createCrashPoints, type WorkerRun, workers } from './workers.ts'

const [, , name = '', crashAt = '', text = ''] = process.argv
const { url, now, ...given } = JSON.parse(text) as { readonly url: string; readonly now: string }
const { passed, ...points } = createCrashPoints(Number(crashAt))
const closes: (() => Promise<unknown>)[] = []
const run: WorkerRun = { ...points, url, now: new Date(now), atEnd: (close) => void closes.push(close) }
const worker = (workers as Readonly<Record<string, (given: object, run: WorkerRun) => Promise<unknown>>>)[name]
if (worker === undefined) throw new Error(`no worker has the name ${name}`)
await worker(given, run)
for (const close of closes) await close()
process.stdout.write(String(passed()))
