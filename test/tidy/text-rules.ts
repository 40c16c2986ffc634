/** Rules for the texts that partners read in the OpenAPI document and in error responses. */
import { operationIds } from '@partner-payments/wire'
import type { Finding } from './source.ts'

export const summaryWordsMax = 8
export const titleWordsMax = 10
export const sentenceWordsMax = 25

/** Verbs that say more to a caller than the verb of an operation's id. */
const otherVerbs = ['Invite', 'Re-enable', 'Request', 'Retrieve', 'Send']
const verbOf = (id: string): string => id.replace(/[A-Z].*$/, '').replace(/^./, (first) => first.toUpperCase())
/** The verbs that a summary may begin with: those of all ids, and the other ones. */
const summaryVerbs: ReadonlySet<string> = new Set([...operationIds.map(verbOf), ...otherVerbs])

const wordsOf = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean)

/** Code spans count as one word, so that a period in a span does not end a sentence. */
const sentencesOf = (text: string): readonly string[] =>
  text
    .replace(/`[^`]*`/g, 'Code')
    .split(/(?<=\.)\s+/)
    .filter(Boolean)

/** The reason for which `text` does not consist of short sentences, or undefined. */
function proseProblem(text: string): string | undefined {
  if (!text.endsWith('.')) return 'does not end with a period'
  if (!/^[A-Z`]/.test(text)) return 'does not begin with a capital letter'
  const long = sentencesOf(text).find((sentence) => wordsOf(sentence).length > sentenceWordsMax)
  return long === undefined ? undefined : `has a sentence of more than ${sentenceWordsMax} words: ${long}`
}

function phraseProblem(text: string, wordsMax: number): string | undefined {
  if (!/^[A-Z]/.test(text)) return 'does not begin with a capital letter'
  if (/[.;!?]$/.test(text)) return 'ends with punctuation'
  const { length } = wordsOf(text)
  return length > wordsMax ? `has ${length} words, at most ${wordsMax} are allowed` : undefined
}

function summaryProblem(summary: string): string | undefined {
  const [verb = ''] = wordsOf(summary)
  if (!summaryVerbs.has(verb)) return `begins with "${verb}", which is not the verb of an operation`
  return phraseProblem(summary, summaryWordsMax)
}

const findings = (where: string, problem: string | undefined): readonly Finding[] =>
  problem === undefined ? [] : [`${where} ${problem}`]

type OperationTexts = Readonly<Record<string, { readonly summary: string; readonly description: string }>>
type ProblemTexts = Readonly<Record<string, { readonly title: string; readonly detail: string }>>

export function checkOperationTexts(operations: OperationTexts): readonly Finding[] {
  const summaries = new Set<string>()
  return Object.entries(operations).flatMap(([id, { summary, description }]) => {
    const isDuplicate = summaries.has(summary)
    summaries.add(summary)
    return [
      ...findings(`operations.${id}: the summary`, summaryProblem(summary)),
      ...findings(`operations.${id}: the summary`, isDuplicate ? 'is the summary of another operation' : undefined),
      ...findings(`operations.${id}: the description`, proseProblem(description)),
    ]
  })
}

export function checkProblemTexts(problems: ProblemTexts): readonly Finding[] {
  return Object.entries(problems).flatMap(([code, { title, detail }]) => [
    ...findings(`problems.${code}: the title`, phraseProblem(title, titleWordsMax)),
    ...findings(`problems.${code}: the detail`, proseProblem(detail)),
  ])
}

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
type DescribedPlace = { readonly where: string; readonly description: Json | undefined }

const isObject = (value: Json | undefined): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every property of every schema, parameter and header of an OpenAPI document, with its description. */
export function describedParts(node: Json, where = '#'): readonly DescribedPlace[] {
  if (Array.isArray(node)) return node.flatMap((item: Json, index) => describedParts(item, `${where}/${index}`))
  if (!isObject(node)) return []
  const parts = (['properties', 'headers'] as const).flatMap((kind) => {
    const entries = node[kind]
    return isObject(entries)
      ? Object.entries(entries).filter(([, value]) => isObject(value) && !isReference(value))
      : []
  })
  const parameters = Array.isArray(node.parameters) ? node.parameters : []
  return [
    ...parts.map(([name, value]) => ({
      where: `${where}/${name}`,
      description: isObject(value) ? value.description : undefined,
    })),
    ...parameters
      .filter((value: Json) => isObject(value) && !isReference(value))
      .map((value: Json, index) => ({
        where: `${where}/parameters/${index}`,
        description: isObject(value) ? value.description : undefined,
      })),
    ...Object.entries(node).flatMap(([name, value]) =>
      literals.has(name) ? [] : describedParts(value, `${where}/${name}`),
    ),
  ]
}

/** Examples are values, not schemas. */
const literals: ReadonlySet<string> = new Set(['example', 'examples', 'value', 'default', 'enum', 'const'])
/** A header or a parameter that the components describe. A property says what it means at its own place. */
const isReference = (value: { readonly [key: string]: Json }) =>
  typeof value.$ref === 'string' && /\/(?:headers|parameters)\//.test(value.$ref)

export function checkDescriptions(document: Json): readonly Finding[] {
  return describedParts(document).flatMap(({ where, description }) => {
    if (typeof description !== 'string') return [`${where} has no description`]
    return findings(`${where}: the description`, proseProblem(description))
  })
}
