/** Pure: records as CSV, for the auditor. The last lines of each record hold the signed text, from which the other lines derive. */
import { ownJson } from '@partner-payments/wire'
import { csvCell } from '../../kernel/index.ts'
import type { SafeguardingContent, SignedContent } from './content.ts'

const columns = [
  'line',
  'day',
  'currency',
  'version',
  'kind',
  'connector',
  'account',
  'id',
  'on',
  'amount',
  'count',
  'text',
] as const
type Line = Partial<Record<(typeof columns)[number], string>> & { readonly line: string }

/** The signed text is in base64, so that spreadsheets do not change it. */
const signedLines = { content: 'signed_content', signature: 'signature', publicKey: 'public_key' } as const

function toLines({ content: text, signature, publicKey }: SignedContent): readonly Line[] {
  const content = ownJson<SafeguardingContent>(text)
  const { requirement, accounts, parts, entries, changedRows } = content
  const sums = [
    ['requirement', requirement.total],
    ['requirement_balances', requirement.balances],
    ['requirement_reserved', requirement.reserved],
    ['requirement_suspense', requirement.suspense],
    ['resource', content.resource],
    ['difference', content.difference],
    ['own', content.own],
    ['timing', content.timing],
    ['discrepancy', content.discrepancy],
  ] as const
  return [
    { line: 'status', kind: content.status, on: content.cutAt, text: content.computedAt },
    ...(content.previous === null ? [] : [{ line: 'corrects', text: content.previous }]),
    ...sums.map(([kind, amount]) => ({ line: 'sum', kind, amount: amount ?? '' })),
    ...accounts.map(({ connector, account, dueOn, statement }) => ({
      ...{ line: 'account', connector, account, id: statement?.name ?? '', on: statement?.on ?? dueOn },
      ...{ kind: statement === null ? 'missing' : 'statement', amount: statement?.closing ?? '' },
    })),
    ...parts.map(({ group, kind, connector, account, amount, count, why }) => ({
      ...{ line: `part_${group}`, kind, connector, account, amount, count: String(count), text: why },
    })),
    ...entries.map(({ kind, account, id, bookedOn: on, amount }) => ({ line: 'entry', kind, account, id, on, amount })),
    ...changedRows.map(({ partnerId: id, account, difference: amount }) => ({
      line: 'changed_row',
      account,
      id,
      amount,
    })),
    { line: signedLines.content, text: Buffer.from(text).toString('base64') },
    { line: signedLines.signature, text: signature },
    { line: signedLines.publicKey, text: publicKey },
  ].map((line) => ({ ...line, day: content.day, currency: content.currency, version: String(content.version) }))
}

/** Formats a cell. Amounts are numbers and stay unchanged. */
const cell = (name: (typeof columns)[number], value: string): string => (name === 'amount' ? value : csvCell(value))

export const safeguardingCsv = (records: readonly SignedContent[]): string =>
  [
    columns.join(','),
    ...records.flatMap(toLines).map((line: Line) => columns.map((name) => cell(name, line[name] ?? '')).join(',')),
  ]
    .map((line) => `${line}\r\n`)
    .join('')

/** Reads the signed texts of a CSV. Undefined if it has none, or if other lines do not derive from them. */
export function readSignedCsv(text: string): readonly SignedContent[] | undefined {
  // One signature in 64 begins with a plus sign, which the cell escapes with an apostrophe.
  const valuesOf = (name: string) =>
    text
      .split('\r\n')
      .flatMap((line) => (line.startsWith(`${name},`) ? [line.slice(line.lastIndexOf(',') + 1).replace(/^'/, '')] : []))
  const [contents, signatures, publicKeys] = [
    valuesOf(signedLines.content),
    valuesOf(signedLines.signature),
    valuesOf(signedLines.publicKey),
  ]
  const signed = contents.map((content, index) => ({
    content: Buffer.from(content, 'base64').toString(),
    signature: signatures[index] ?? '',
    publicKey: publicKeys[index] ?? '',
  }))
  try {
    return signed.length > 0 && safeguardingCsv(signed) === text ? signed : undefined
  } catch {
    return undefined
  }
}
