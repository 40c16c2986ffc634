/**
 * The sending side of a file-based bank as a process: `node iso-files-child.ts <crash at> <database url> <folder> <now>`. Runs until no
 * payment waits and every file is at the bank, and prints how many crash points it passed, or crashes at the given point: around each
 * commit, and before, within and after each operation on a file.
 */
import fs, { type FileHandle } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { createCrashPoints } from './crashing.ts'

const [, , crashAt = '', url = '', root = '', now = ''] = process.argv
const { point, wrapDatabase, passed } = createCrashPoints(Number(crashAt))

/** Before the modules under test are loaded, whose imports are then the wrapped functions. */
let isCounting = false
const counted = () => void (isCounting && point())
const around =
  <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    counted()
    const result = await work(...args)
    counted()
    return result
  }

function wrapHandle(handle: FileHandle): FileHandle {
  const write = handle.writeFile.bind(handle)
  return Object.assign(handle, {
    sync: around(handle.sync.bind(handle)),
    writeFile: async (bytes: Uint8Array) => {
      // Half of a file is on the disk.
      const half = Math.floor(bytes.length / 2)
      await write(bytes.subarray(0, half))
      counted()
      await write(bytes.subarray(half))
    },
  })
}

const { mkdir, open, rename, unlink } = fs
Object.assign(fs, {
  mkdir: around(mkdir),
  rename: around(rename),
  unlink: around(unlink),
  open: around(async (...args: Parameters<typeof open>) => wrapHandle(await open(...args))),
})
syncBuiltinESMExports()

const { createTestService } = await import('../support/composition.ts')
const { bankTakes, openBank, openFolders } = await import('../support/iso-outgoing.ts')
const { countQueued } = await import('../../service/src/banks/files/store-instructions.ts')
const { oldestUndelivered } = await import('../../service/src/banks/files/store-instructions.ts')
const { rulesOfRun } = await import('./iso-files-rules.ts')

const service = await createTestService({ url, now: new Date(now), wrapDatabase })
const folders = await openFolders(root)
const db = wrapDatabase(service.db)
const { steps } = openBank({ db, clock: service.clock }, folders, rulesOfRun)
const isOver = async () =>
  (await countQueued(service.db, 'iso20022')).size === 0 && (await oldestUndelivered(service.db, 'iso20022')) === null
isCounting = true
while (!(await isOver())) {
  await steps.make()
  await steps.deliver()
  // The bank takes what it finds at once, so that nothing but the rows says that it has it.
  await bankTakes(folders)
  service.clock.advance(1000)
}
await service.close()
process.stdout.write(String(passed()))
