/**
 * Prints how many hand-written files each of the last commits changed that added an operation to the operations table:
 * `node scripts/measure/files-per-operation.ts [COMMITS]`, by default the last 15. Generated files are not counted.
 */
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { numbersGiven } from '../arguments.ts'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
const table = ['wire/src/operations.ts', 'wire/src/operations']
/** Generated paths, with the places where pages were committed before they were generated on demand. */
const generated =
  /^(?:wire\/(?:openapi|examples)\.json|sdk\/src\/generated\/.*|service\/schema\.md|docs\/(?:permissions|problems|configuration|lifecycles|bank-reasons)\.md)$/

function git(...args: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`)
  return stdout.split('\n').filter((line) => line !== '')
}

/** The operations that a commit adds. An operation that moves to another file is removed and added. */
function addedBy(commit: string): readonly string[] {
  const lines = git('show', '--format=', '--unified=0', commit, '--', ...table)
  const idsOf = (sign: '+' | '-') =>
    lines.flatMap((line) => (line.startsWith(sign) ? (/^.  (\w+): \{$/.exec(line)?.slice(1) ?? []) : []))
  const removed = new Set(idsOf('-'))
  return idsOf('+').filter((id) => !removed.has(id))
}

const isTest = (path: string): boolean => path.startsWith('test/') || path.endsWith('.test.ts')

const { commitsMax } = numbersGiven({ commitsMax: 15 })
let counted = 0
console.log('files  tests  operations  commit')
for (const commit of git('log', '--no-merges', '--format=%h', '--', ...table)) {
  if (counted === commitsMax) break
  const operations = addedBy(commit)
  if (operations.length === 0) continue
  counted += 1
  const files = git('show', '--format=', '--name-only', commit).filter((path) => !generated.test(path))
  const [subject = ''] = git('log', '-1', '--format=%s', commit)
  const columns = [files.length, files.filter(isTest).length, operations.length]
  console.log(
    `${columns.map((value, at) => String(value).padStart([5, 7, 12][at] ?? 0)).join('')}  ${commit} ${subject}`,
  )
}
