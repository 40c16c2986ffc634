/** Time, identifiers, randomness, the environment and parsed JSON each come from one place, so that a test can hold them. */
import { placeOf } from './places.ts'
import { finding, type Finding, isTest, matches, type Source } from './source.ts'

/** A monotonic stopwatch (`performance.now`) tells no time of day and stays free. */
const time = [
  [/\bnew\s+Date\b(?:\s*\(\s*\)|(?!\s*\())/g, 'new Date() without arguments'],
  [/(?<!new\s+)(?<![\w.])Date\s*\(\s*\)/g, 'Date()'],
  [/\bDate\s*\.\s*now\b/g, 'Date.now'],
] as const
const chance = [
  [/\bMath\s*\.\s*random\b/g, 'Math.random'],
  [/\bcrypto\s*\.\s*(?:randomUUID|getRandomValues|randomBytes|randomInt|webcrypto)\b/g, 'crypto.random...'],
] as const
const chanceNames = /\b(randomUUID\w*|randomBytes|randomInt|randomFill\w*|getRandomValues|webcrypto)\b/

/** The kernel files that are the sources, and the line of defence that may not depend on a clock that is given. */
const timeSources: Readonly<Record<string, string>> = {
  'service/src/kernel/clock.ts': 'the clock',
  'service/src/kernel/log.ts': 'a log line bears the time of the machine, whatever clock the work is given',
}
const chanceSources: Readonly<Record<string, string>> = { 'service/src/kernel/ids.ts': 'identifiers and randomness' }
/** The embedded server is a process of the operating system: it is timed by the machine and starts before any clock. */
const isEmbedded = (path: string): boolean => path.startsWith('service/src/postgres/embedded/')

const inService = (source: Source): boolean => !isTest(source) && /^(?:service|wire)\/src\//.test(source.path)

export function checkTime(sources: readonly Source[]): readonly Finding[] {
  return sources
    .filter((source) => inService(source) && !(source.path in timeSources) && !isEmbedded(source.path))
    .flatMap((source) =>
      time.flatMap(([pattern, what]) => matches(source, source.code, pattern, `${what}: time comes from the clock`)),
    )
}

export function checkChance(sources: readonly Source[]): readonly Finding[] {
  return sources
    .filter((source) => inService(source) && !(source.path in chanceSources) && !isEmbedded(source.path))
    .flatMap((source) => [
      ...chance.flatMap(([pattern, what]) =>
        matches(source, source.code, pattern, `${what}: ids and randomness come from kernel/ids.ts`),
      ),
      ...source.imports
        .filter(({ from, names }) => /^(?:node:)?crypto$/.test(from) && (chanceNames.test(names) || /\*/.test(names)))
        .map(({ at }) => finding(source, at, 'randomness of node:crypto: ids and randomness come from kernel/ids.ts')),
    ])
}

/** `process.env` is read once, by config.ts, and told threads and children where compiled code is; it is read by scripts, examples, the bench, the tests' support and the tests that run the guides' programs. */
const environmentReaders =
  /^(?:service\/src\/(?:app\/config|compiled-code)\.ts$|test\/(?:support|guides)\/|scripts\/|examples\/|bench\/environment\.ts$)/

export function checkEnvironment(sources: readonly Source[]): readonly Finding[] {
  return sources
    .filter((source) => !environmentReaders.test(source.path))
    .flatMap((source) => [
      ...matches(source, source.code, /\bprocess\s*\??\.\s*env\b/g, 'process.env is read by config.ts only'),
      ...matches(source, source.code, /\benv\b[^=;\n]*\}\s*=\s*process\b/g, 'process.env is read by config.ts only'),
      ...source.imports
        .filter(({ from, names }) => /^(?:node:)?process$/.test(from) && placeOf(source.path) && /\benv\b/.test(names))
        .map(({ at }) => finding(source, at, 'process.env is read by config.ts only')),
    ])
}

/** The files that parse JSON, and why a schema or a cast does no harm there. */
const jsonReaders: Readonly<Record<string, string>> = {
  'wire/src/foreign.ts': 'the reader of foreign JSON with its schema, and that of our own',
  'wire/src/decimal.ts': 'the parser with exact decimals',
  'wire/src/approvals.ts': 'a partner verifies what was signed with this file alone',
  'wire/src/audit-proof.ts': 'a partner verifies what was signed with this file alone',
  'service/src/edge/gateway/json.ts': 'the body of a request, which the schema of its operation judges next',
  'service/src/access/signature-variants.ts': 'writes a body again in other forms, and reads none of its fields',
  'service/src/monitoring/rules.ts': 'refuses each field of a rule with its pointer',
  'service/src/chains/evm/settings.ts': 'refuses each field of a setting in words',
  'service/src/banks/files/settings.ts': 'refuses each field of a setting in words',
}
const parsing = [
  [/\bJSON\s*(?:\?\.|\.)\s*parse\b|\bJSON\s*\[/g, 'JSON.parse'],
  [/\bJSON\b(?!\s*(?:\?\.|\.|\[))/g, 'JSON under another name'],
  [/\bparseJsonExactly\b/g, 'parseJsonExactly'],
  [/\.\s*json\s*\(\s*\)/g, 'the JSON of a response'],
] as const

/** A cast of parsed JSON trusts its author: `{"length":6e7}` where a text was expected made a buffer of 60 MB. */
export function checkParsing(sources: readonly Source[]): readonly Finding[] {
  return sources
    .filter((source) => inService(source) && !(source.path in jsonReaders))
    .flatMap((source) =>
      parsing.flatMap(([pattern, what]) =>
        matches(
          source,
          source.code,
          pattern,
          `${what}: parseUntrustedJson reads what others wrote by a schema, ownJson what this service wrote`,
        ),
      ),
    )
}

/** A reader that is excepted and parses nothing. */
export const idleJsonReaders = (sources: readonly Source[]): readonly string[] =>
  Object.keys(jsonReaders).filter(
    (path) =>
      !sources.some((source) => source.path === path && parsing.some(([pattern]) => source.code.search(pattern) >= 0)),
  )
