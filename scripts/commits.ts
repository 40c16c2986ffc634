/**
 * The subjects of commits: imperative, a capital first, at most 72 characters, no full stop. Applies to every commit after
 * the one that added this file; without a git history there is nothing to check.
 */
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const subjectCharsMax = 72
/** Verbs that end like another form of a verb. */
const imperativesLikeForms = new Set([
  'Address',
  'Bring',
  'Compress',
  'Discuss',
  'Embed',
  'Feed',
  'Need',
  'Pass',
  'Press',
  'Process',
  'Seed',
  'Speed',
  'Suppress',
])

/** Published with subjects that are too long. History is not rewritten. */
const published = new Set(['6ae0c442a680a84a5f6beec8554592f251975102'])

const git = (...args: readonly string[]): string => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout ?? ''

function problemsOf(subject: string): readonly string[] {
  const [first = ''] = subject.split(' ')
  const isOtherForm = /(?:ed|ing|[^s]s)$/.test(first) && !imperativesLikeForms.has(first)
  return [
    ...(subject.length > subjectCharsMax ? [`${subject.length} characters, ${subjectCharsMax} at most`] : []),
    ...(/^[A-Z]/.test(first) ? [] : ['does not begin with a capital']),
    ...(isOtherForm ? [`begins with "${first}", which is not an imperative`] : []),
    ...(subject.endsWith('.') ? ['ends with a full stop'] : []),
  ]
}

const base = git('log', '--diff-filter=A', '--format=%H', '--', 'scripts/commits.ts').trim().split('\n').at(-1) ?? ''
const commits =
  base === '' ? [] : git('log', '--no-merges', '--format=%H %s', `${base}..HEAD`).split('\n').filter(Boolean)
const subjects = commits.filter((line) => !published.has(line.split(' ', 1)[0] ?? '')).map((line) => line.slice(41))
const found = subjects.flatMap((subject) => problemsOf(subject).map((problem) => `${subject}: ${problem}`))
for (const line of found) console.error(line)
console.log(`${subjects.length} commit subjects checked`)
process.exitCode = found.length === 0 ? 0 : 1
