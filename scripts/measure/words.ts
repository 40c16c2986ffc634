/**
 * Measures the words of the tree: `node scripts/measure/words.ts [--seed N]`. Prints the words of the documents by group, the
 * share of doc comments that begin as fragments and of sentences over 25 words, and a draw of 40 doc comments, 40 messages
 * and 80 exported names to be read aloud. A seed always draws the same places of the same tree.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isFragment, readDocComments } from '../../test/tidy/word-rules.ts'
import { type File, isTest, lineOf, root, scan } from '../../test/tidy/source.ts'

const { values } = parseArgs({ options: { seed: { type: 'string', default: '26' } } })

type Place = { readonly path: string; readonly at: number; readonly text: string }

const read = (path: string): File => ({ path, text: readFileSync(join(root, path), 'utf8') })
const listed = (pattern: string): readonly File[] =>
  execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', pattern], {
    cwd: root,
    encoding: 'utf8',
  })
    .trim()
    .split('\n')
    .map(read)

/** Pages that a bench writes. Those of `npm run docs` are not committed. */
const generated = /^bench\/(?:\w+\/)?results\.md$/
const groups: readonly (readonly [name: string, pattern: RegExp])[] = [
  ['generated', generated],
  ['decisions', /^docs\/decisions\//],
  ['guides', /^docs\/guides\//],
  ['runbooks', /^docs\/runbooks\//],
  ['groups', /^docs\/groups\/|^docs\/gaps\.md$/],
  ['other docs', /^docs\//],
  ['root', /^[^/]+\.md$/],
  ['beside the code', /./],
]
const wordsOf = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

function printDocuments(pages: readonly File[]): void {
  const sums = new Map(groups.map(([name]) => [name, 0]))
  for (const { path, text } of pages) {
    const group = groups.find(([, pattern]) => pattern.test(path))?.[0] ?? ''
    sums.set(group, (sums.get(group) ?? 0) + wordsOf(text))
  }
  const written = [...sums].reduce((sum, [name, words]) => (name === 'generated' ? sum : sum + words), 0)
  console.log('Words of the documents')
  for (const [name, words] of [...sums, ['written by hand', written] as const])
    console.log(`  ${name.padEnd(16)}${String(words).padStart(8)}`)
}

const isService = ({ path }: File): boolean =>
  /^(?:service|wire|sdk)\/src\//.test(path) && !path.includes('/generated/')

function printComments(comments: readonly Place[]): void {
  const fragments = comments.filter(({ text }) => isFragment(text)).length
  const sentences = comments.flatMap(({ text }) => text.split(/(?<=[.!?]) (?=[A-Z`])/))
  const long = sentences.filter((sentence) => wordsOf(sentence) > 25).length
  const share = (part: number, whole: number) => `${part} of ${whole} (${((part / whole) * 100).toFixed(1)} %)`
  console.log('\nDoc comments')
  console.log(`  begin as fragments: ${share(fragments, comments.length)}`)
  console.log(`  sentences over 25 words: ${share(long, sentences.length)}`)
}

/** Texts of pages in other languages, and titles of the sources of rules. */
const foreign = /^service\/src\/(?:pages\/.*(?:-de|\/de)\.ts|iso20022\/profiles\/)|[äöüß„]/

/** Texts that people read: summaries, metric help, log lines and error details. */
const messageForms = [
  /\b(?:summary|help|detail|title|message): (['"`])((?:\\.|(?!\1)[^\n])*)\1/g,
  /\blog\??\.(?:debug|info|warn|error)\((?:\{[^{}]*\},\s*)?(['"`])((?:\\.|(?!\1)[^\n])*)\1/g,
  /\bnew Refusal\(\s*'\w+',\s*(['"`])((?:\\.|(?!\1)[^\n])*)\1/g,
]
const messagesOf = ({ path, text }: File): readonly Place[] =>
  messageForms
    .flatMap((form) => [...text.matchAll(form)])
    .map((match) => ({ path, at: match.index, text: match[2] ?? '' }))
    .filter(({ text: message }) => message.includes(' ') && !foreign.test(path) && !foreign.test(message))

const namesOf = (file: File): readonly Place[] =>
  [...scan(file).code.matchAll(/^export\s+(?:async\s+)?(?:const|let|function\*?|class|type|interface)\s+(\w+)/gm)].map(
    (match) => ({ path: file.path, at: match.index, text: match[1] ?? '' }),
  )

/** Draws by the hash of seed and place, so that a change elsewhere in the tree does not change the draw. */
function draw(places: readonly Place[], count: number): readonly Place[] {
  const keyOf = ({ path, text }: Place) => createHash('sha256').update(`${values.seed}:${path}:${text}`).digest('hex')
  return places
    .map((place) => ({ place, key: keyOf(place) }))
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, count)
    .map(({ place }) => place)
}

function printDraw(title: string, places: readonly Place[], byPath: ReadonlyMap<string, File>): void {
  console.log(`\n${title}`)
  for (const [at, place] of places.entries()) {
    const line = lineOf(byPath.get(place.path)?.text ?? '', place.at)
    console.log(`${String(at + 1).padStart(3)}. ${place.text}\n     ${place.path}:${line}`)
  }
}

const sources = listed('*.ts').filter((file) => isService(file) && !isTest(file))
const byPath = new Map(sources.map((file) => [file.path, file]))
const comments = sources.flatMap((file) => readDocComments(file).map((comment) => ({ path: file.path, ...comment })))
printDocuments(listed('*.md'))
printComments(comments)
printDraw('40 doc comments', draw(comments, 40), byPath)
printDraw('40 messages', draw(sources.flatMap(messagesOf), 40), byPath)
printDraw('80 exported names', draw(sources.flatMap(namesOf), 80), byPath)
