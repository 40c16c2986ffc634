/** A day in all currencies as PDF, for the auditor. The same records give the same bytes. */
import { ownJson } from '@partner-payments/wire'
import { accountPdf, type DocumentRow, type DocumentSection } from '../../typesetting/index.ts'
import { type SafeguardingContent, contentDigest, type SignedContent } from './content.ts'

/** Formats an amount in groups of three digits, with a minus sign as wide as a digit. */
function money(amount: string): string {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.')
  return `${amount.startsWith('-') ? '−' : ''}${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${fraction}`
}
const orMissing = (amount: string | null): string => (amount === null ? 'not known' : money(amount))

const groupNames = { own: 'Own money', timing: 'In transit', discrepancy: 'Discrepancy' } as const

export function safeguardingPdf(records: readonly SignedContent[]): AsyncGenerator<Uint8Array> {
  const contents = records.map(({ content }) => ownJson<SafeguardingContent>(content))
  const [first] = contents
  return accountPdf({
    title: 'Safeguarding record',
    issuer: `Client money and designated accounts on ${first?.day ?? ''}`,
    facts: [
      ['End of the day', first?.cutAt ?? ''],
      ...contents.flatMap(({ currency, status, version, computedAt }, index) => [
        [`${currency}`, `${status}, version ${version}, computed at ${computedAt}`] as const,
        ['Digest (SHA-256)', contentDigest(records[index]?.content ?? '')] as const,
        ['Signature', records[index]?.signature ?? ''] as const,
      ]),
      ['Public key', records[0]?.publicKey ?? ''],
    ],
    sections: contents.map(toSection),
    note:
      'Requirement: balances of the clients and money that arrived and is not assigned, by the ledger at the end of the day. Resource: closing ' +
      'balances of the designated accounts by the statements of their banks. All times are in UTC. The signature is by Ed25519 over the ' +
      'text of the record; "operator safeguarding verify" checks it from the JSON or CSV export, without a connection.',
    createdAt: new Date(first?.computedAt ?? 0),
    tagged: true,
  })
}

function toSection(content: SafeguardingContent): DocumentSection {
  const { currency, requirement, resource, difference, own } = content
  return {
    heading: `${currency}: ${content.status}`,
    box: [
      ['Requirement', money(requirement.total)],
      ['Resource', orMissing(resource)],
      ['Difference', orMissing(difference)],
      ['Excess or shortfall', orMissing(own)],
    ],
    columns: { amount: `Amount ${currency}` },
    closing: ['Resource less requirement', orMissing(difference)],
    empty: 'Resource and requirement are equal.',
    rows: async function* rows() {
      yield toRows(content)
    },
  }
}

function toRows({ day, accounts, parts, entries, changedRows }: SafeguardingContent): readonly DocumentRow[] {
  const row = (text: string, detail: string, amount: string, date = day): DocumentRow => ({
    date,
    text,
    detail,
    amount,
  })
  return [
    ...accounts.map(({ account, connector, statement, dueOn }) =>
      statement === null
        ? row(`Statement missing: ${account}`, `${connector} · due for ${dueOn}`, '')
        : row(
            `Closing balance: ${account}`,
            `${connector} · statement ${statement.name}`,
            money(statement.closing),
            statement.on,
          ),
    ),
    ...parts.map(({ group, kind, account, why, amount, count }) =>
      row(
        `${groupNames[group]}: ${kind}`,
        [why, account, count > 0 ? `${count} entries` : ''].filter(Boolean).join(' · '),
        money(amount),
      ),
    ),
    ...entries.map(({ kind, account, id, amount, bookedOn }) =>
      row(`Entry: ${kind}`, `${account} · ${id}`, money(amount), bookedOn),
    ),
    ...changedRows.map(({ partnerId, account, difference }) =>
      row(`Changed account row: ${account}`, `partner ${partnerId}`, money(difference)),
    ),
  ]
}
