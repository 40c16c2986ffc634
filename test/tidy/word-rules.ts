/**
 * The words that this code does not use, because the field has others (docs/glossary.md). Read in code, comments, strings,
 * documents and new migrations; records of the past keep their words.
 */
import { type File, finding, type Finding } from './source.ts'

/** What stands instead of each word. Written in halves, so that this file does not hold what it looks for. */
const replacements: readonly (readonly [pattern: RegExp, word: string])[] = [
  [/\bhou[s]es?\b/gi, 'service'],
  // Not the elements of ISO 20022.
  [/(?<!['"</])\broo[m]s?\b(?!['"])/gi, 'module'],
  [/\bdoo[r]s?\b/gi, 'public interface'],
  [/\branks?\b/gi, 'layer'],
  [/\bde[s]k\b/gi, 'dispatcher'],
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

/** Records, and texts that are not ours to word. */
const exempt = [
  /^docs\/decisions\//,
  /^docs\/interface\.md$/,
  /^CHANGELOG\.md$/,
  /^LICENSE$/,
  /^service\/migrations\/00(?:0\d|1\d|2[0-3])-/,
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
