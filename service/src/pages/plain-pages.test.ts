/**
 * Pages for finance, compliance and support mention no API call and no shell command, because forms and links are
 * enough.
 */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'

/** Pages of developers, and the component that shows a call. */
const ofDevelopers = [
  'design',
  'events',
  'guests',
  'request',
  'request-log',
  'service-accounts',
  'simulations',
  'webhooks',
]
/** The page on which staff confirm a command. */
const ofCommands = ['commands']

async function namedIn(folder: 'console' | 'desk', word: RegExp): Promise<readonly string[]> {
  const home = new URL(`./${folder}/`, import.meta.url)
  const names = (await readdir(home)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  const found = await Promise.all(
    names.map(async (name) => {
      const source = (await readFile(new URL(name, home), 'utf8')).replaceAll(/\/\*\*[^]*?\*\//g, '')
      return word.test(source) ? name.slice(0, -'.ts'.length) : ''
    }),
  )
  return found.filter((name) => name !== '')
}

test('only the pages for developers mention API calls', async () => {
  const named = await namedIn('console', /['"`](?:GET|POST|PUT|PATCH|DELETE) \/v1\/|npm run /)
  assert.deepEqual(
    named.filter((name) => !ofDevelopers.includes(name)),
    [],
  )
  assert.ok(named.length > 3, 'the pages were read')
})

test('only the page of commands mentions operator commands', async () => {
  const named = await namedIn('desk', /npm run /)
  assert.deepEqual(
    named.filter((name) => !ofCommands.includes(name)),
    [],
  )
  assert.ok(named.includes('commands'), 'the pages were read')
})

test('the texts of both sites contain no commands and no code marks, and API paths only for developers', async () => {
  for (const site of ['console', 'desk'])
    for (const language of ['en', 'de']) {
      const home = new URL(`./${site}/texts/${language}/`, import.meta.url)
      for (const name of await readdir(home)) {
        const source = (await readFile(new URL(name, home), 'utf8')).replaceAll(/^\/\*\*.*$/gm, '')
        const texts = [...source.matchAll(/'((?:[^'\\]|\\.)*)'/g)].map(([, text = '']) => text)
        for (const text of texts) {
          const isOfDevelopers = name === 'developers.ts'
          assert.ok(!/`|npm run/.test(text), `${site} ${language}: ${text}`)
          assert.ok(isOfDevelopers || !/\/v1\//.test(text), `${site} ${language}: ${text}`)
        }
      }
    }
})
