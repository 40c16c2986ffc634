/**
 * Rules for words. Vocabulary: words that have a term of the field (docs/glossary.md), in code, comments, strings, documents
 * and migrations. Doc comments: a comment begins with a verb or with the noun that it explains.
 */
import { type File, finding, type Finding } from './source.ts'

/** Replacement of each word. The patterns are written so that this file does not contain the words. */
const replacements: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\bhou[s]es?\b/gi, 'service'],
  // Not the elements of ISO 20022.
  [/(?<!['"</])\broo[m]s?\b(?!['"])/gi, 'module'],
  [/\bdoo[r]s?\b/gi, 'public interface'],
  [/\branks?\b/gi, 'layer'],
  [/\bkno[c]k\b/gi, 'not-found route'],
  [/\blan[e]s?(?=\b|[A-Z])/gi, 'endpoint queue'],
  [/\bcensu[s]\b/gi, 'endpoint statistics'],
  [/\btria[l]s?(?=\b|[A-Z])/gi, 'test delivery'],
  [/\btwin[s]?(?=\b|[A-Z])/gi, 'duplicate'],
  [/\bwis[h](?:es)?(?=\b|[A-Z])/gi, 'reservation request'],
  [/\bsamenes[s]\b/gi, 'request fingerprint'],
  [/\bane[w]\b/gi, 'unprepared, or again'],
  [/\bcompanyMi[n]\w*/g, 'secondBatchMin'],
  // Its column keeps the older name, because processes of earlier versions write it.
  [/\brequestHas[h]\b/g, 'requestFingerprint'],
  [/\bmorta[l]\b/gi, 'restartable process'],
  [/\bdeath[s]\b/gi, 'crash points'],
  [/\bFat[e]\b/g, 'worker harness'],
  [/\bthe book[s]\b/gi, 'the ledger'],
  [/\bnotice[s]?(?=\b|[A-Z])/gi, 'bank notification, or alert email'],
  [/(?<!event |event)\boutbo[x]\b/gi, 'event outbox, or sandbox mailbox'],
  [/\bwhoeve[r]\b|\bwhomeve[r]\b/gi, 'the actor'],
  [/\b(?:(?<!')[Nn]obod[y]|[Ss]omebod[y])\b/g, 'the actor'],
]

/** Texts that are not ours to word. */
const exempt = [
  /^docs\/interface\.md$/,
  /^CHANGELOG\.md$/,
  /^LICENSE$/,
  // They name what they drop.
  /^service\/migrations\/\d{4}-contract-/,
  /^test\/migrations\//,
  /^test\/tidy\/word-rules\.ts$/,
]

export function checkVocabulary(files: readonly File[]): readonly Finding[] {
  return files
    .filter(({ path }) => !exempt.some((pattern) => pattern.test(path)))
    .flatMap((file) =>
      replacements.flatMap(([pattern, word]) =>
        [...file.text.matchAll(pattern)].map((match) =>
          finding(file, match.index, `"${match[0]}" is not a word of this code: write ${word}`),
        ),
      ),
    )
}

export type DocComment = { readonly text: string; readonly at: number }

/** Doc comments of a source, each on one line without its marks. */
export const readDocComments = ({ text }: File): readonly DocComment[] =>
  [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].map((match) => ({
    text: (match[1] ?? '')
      .replaceAll(/\n\s*\* ?/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
    at: match.index,
  }))

/** Begins as the rest of a sentence that the reader has to complete from the code below. */
const fragment =
  /^(?:Of|Those|These|Whatever|What|Whose|Who|That|It|Its|They|Their|Behind|Beside|Besides|Beyond|Under|Are|Since|Neither|Nor|Because|Which|Whichever|Where|Why|Not|Nothing|None|Without|Until|From|To|With|At|On|By|As|Also|Both|Or|So|And|In|For|Before|After|Such|There|If|Once|One (?:of|that|which|who|whose|for|by|in|with|at|on|more|behind|and))\b|^One[:.,]/

export const isFragment = (text: string): boolean => fragment.test(text)

/** Descriptions in the OpenAPI document: they are the doc comments of the client package. */
export function checkDescriptions(document: unknown, at = ''): readonly string[] {
  if (typeof document !== 'object' || document === null) return []
  return Object.entries(document).flatMap(([key, value]) =>
    key === 'description' && typeof value === 'string'
      ? isFragment(value)
        ? [`${at}: begin with a verb or the noun that is explained, not "${value.split(' ', 3).join(' ')}"`]
        : []
      : checkDescriptions(value, `${at}/${key}`),
  )
}

export function checkDocComments(files: readonly File[]): readonly Finding[] {
  return files.flatMap((file) =>
    readDocComments(file)
      .filter(({ text }) => isFragment(text))
      .map(({ text, at }) =>
        finding(file, at, `begin with a verb or the noun that is explained, not "${text.split(' ', 3).join(' ')}"`),
      ),
  )
}

/**
 * A type that is named by a participle, a question or a position alone: `Found`, `Asked`, `What`, `Beside`. It says that something
 * happened and not what the value is. An adjective before its noun (`PendingRow`), and nouns that end alike (`Booking`), pass.
 */
const bareTypeName =
  /^(?:[A-Z][a-z]*(?<!\b(?:Fe|Se|Ne|Spe))ed|(?:Found|Told|Held|Chosen|Made|Given|Seen|Taken|Known|Said|Sent|Kept|Shown|Drawn|Begun|Bought|Written|Read|Split)|Making|Taking|Asking|Deciding|Seeing|Having|Being|Coming|Going|Giving|Keeping|Choosing|Looking|Wanting|What|Whose|Who|Which|Why|How|When|Where|By|Beside|With|Of|About|Around|Between|Near|Before|After|Again|Back|Later|Most|More|All|Any|None|May)$/

export function checkTypeNames(files: readonly File[]): readonly Finding[] {
  return files.flatMap((file) =>
    [...file.text.matchAll(/^(?:export )?(?:type|interface) (\w+)/gm)]
      .filter(([, name = '']) => bareTypeName.test(name))
      .map((match) => finding(file, match.index, `name the type ${match[1]} by a noun: what is the value?`)),
  )
}
