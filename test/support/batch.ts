/** Test files one after another in one process. scripts/batches.ts writes the files that call it. */
import { describe } from 'node:test'
import { recordFile } from './times.ts'

const root = new URL('../../', import.meta.url)

/** Runs each file as a suite of its path, which `before` and `after` of the file belong to. */
export async function runBatch(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const record = recordFile(file)
    await describe(file, async () => {
      await import(new URL(file, root).href)
    })
    record()
  }
}
