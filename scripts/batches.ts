/**
 * Test files that one process runs one after another, so that it loads the service once for all of them. Each of 570 files had its own
 * process, and loading cost up to two seconds of processor time, often more than the tests.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

type Group = { readonly paths: RegExp; readonly filesMax: number }

/**
 * Patterns of files that can share a process. All others (test/fault, test/roles, ...) get their own. The longest files come first, and
 * fewer of them share a process, so that no process runs alone at the end.
 */
const groups: readonly Group[] = [
  { paths: /^test\/browser\//, filesMax: 3 },
  { paths: /^test\/(?:contract|guides|lifecycle|model|operator)\//, filesMax: 5 },
  { paths: /^(?:service|wire|sdk)\/src\//, filesMax: 12 },
]
/** Smallest batch. Fewer files run separately, each with its own result and time. */
const filesMin = 8

/** Groups neighbouring files, because files of one module load the same modules. */
function deal(files: readonly string[], filesMax: number): readonly (readonly string[])[] {
  const count = Math.ceil(files.length / filesMax)
  const size = Math.ceil(files.length / Math.max(1, count))
  return Array.from({ length: count }, (_none, index) => files.slice(index * size, (index + 1) * size)).filter(
    ({ length }) => length > 0,
  )
}

/** Returns the files for the test runner: one per batch, and the files that run alone. `remove` deletes the files of batches. */
export function batchFiles(root: string, files: readonly string[]) {
  if (files.length < filesMin) return { files, remove: () => {} }
  const folder = mkdtempSync(join(tmpdir(), 'partner-payments-batches-'))
  const program = pathToFileURL(join(root, 'test/support/batch.ts')).href
  const batches = groups
    .flatMap(({ paths, filesMax }) =>
      deal(
        files.filter((file) => paths.test(file)),
        filesMax,
      ),
    )
    .map((batch, index) => {
      // The runner sorts files by name.
      const path = join(folder, `${String(index + 1).padStart(3, '0')}.test.mjs`)
      writeFileSync(path, `import { runBatch } from '${program}'\n\nawait runBatch(${JSON.stringify(batch)})\n`)
      return path
    })
  return {
    files: [...batches, ...files.filter((file) => !groups.some(({ paths }) => paths.test(file)))],
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
