/**
 * Tests that the other programs of the repository also refuse unknown arguments, because a user would trust an ignored
 * one.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const refusals: readonly (readonly [words: string, said: RegExp])[] = [
  ['scripts/verify-proof.ts', /^FILE is missing\nusage: /],
  ['scripts/verify-proof.ts one.json two.json', /^give one FILE: "two\.json" would not be verified\n/],
  ['scripts/verify-proof.ts one.json --key A --key B', /^give each option once\n/],
  [
    'scripts/verify-proof.ts one.json --payee Ada --account DE89370400440532013000',
    /^--payee, --account and --salt go together\n/,
  ],
  ['scripts/verify-proof.ts one.json --pubkey A', /^Unknown option '--pubkey'/],
  ['scripts/measure/files-per-operation.ts --rows 5', /^unexpected argument "--rows"; usage: \[commitsMax = 15\]\n$/],
  ['examples/iso-bank/main.ts --folder /nowhere --poll soon', /^--poll must be a whole number \(it is "soon"\)\n$/],
  ['examples/connector/bank-main.ts --port 1', /usage: node examples\/connector\/bank-main\.ts \[port\]/],
  ['examples/demo/main.ts --chaptr gates', /Unknown option '--chaptr'/],
]
for (const [words, said] of refusals)
  test(`refused: ${words}`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, words.split(' '), { cwd: root, encoding: 'utf8' })
    assert.notEqual(status, 0)
    assert.equal(stdout, '')
    assert.match(stderr, said)
  })

/** Programs that only another program starts, and those that pass on or check each argument themselves. */
const others: ReadonlySet<string> = new Set([
  ...['bench/host.ts', 'bench/against-child.ts', 'bench/against.ts', 'scripts/test.ts'],
  ...['scripts/check-iso.ts', 'scripts/old-version.ts', 'scripts/build-sdk.ts'],
  ...['examples/connector/bank-main.ts', 'scripts/arguments.ts'],
])
test('programs parse their arguments with parseArgs or numbersGiven, which refuse unknown arguments', () => {
  const files = ['bench', 'scripts', 'examples'].flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true, encoding: 'utf8' }).flatMap((name) =>
      name.endsWith('.ts') && !name.endsWith('.test.ts') ? [`${folder}/${name}`] : [],
    ),
  )
  const reading = files.filter((file) => readFileSync(`${root}/${file}`, 'utf8').includes('process.argv'))
  assert.ok(files.length > 80 && reading.length > 5)
  for (const file of reading.filter((each) => !others.has(each)))
    assert.match(readFileSync(`${root}/${file}`, 'utf8'), /\b(?:parseArgs|numbersGiven)\(/, file)
})
