/** Writes bank statements (camt.053.001.08 or .02) of one account and one period. */
import { amountText, type Currency, type Minor } from '../kernel/index.ts'
import { messageNamespace } from './messages.ts'
import { element, shorten, xmlText } from './xml/text.ts'

/** Domain, family and sub-family of the external code set "Bank transaction code". */
export type TransactionCode = readonly [domain: string, family: string, subFamily: string]

type EntryPayment = {
  readonly endToEndId: string | null
  /** The account owner's reference. */
  readonly userReference: string | null
  /** The name of the counterparty. `account`: its IBAN or another id. */
  readonly name: string | null
  readonly account: string | null
}

export type StatementEntry = {
  /** Max35Text. */
  readonly id: string
  /** Negative for a debit. */
  readonly amount: Minor
  /** `YYYY-MM-DDTHH:MM:SS.mmmZ` */
  readonly bookedAt: string
  readonly code: TransactionCode
  readonly reference: string
  /** Absent if details of the payment are unknown. */
  readonly payment?: EntryPayment | undefined
  readonly text: string
}

/** The versions of a statement. German banks and accounting programs still read 02. */
export type Camt053Version = '02' | '08'

export type BankStatement = {
  readonly version: Camt053Version
  /** Max35Text. */
  readonly id: string
  /** A fixed time, so that the same statement has the same bytes. */
  readonly createdAt: Date
  readonly period: { readonly from: Date; readonly to: Date }
  readonly account: { readonly id: string; readonly currency: Currency; readonly ownerName: string }
  readonly opening: Minor
  readonly closing: Minor
  readonly lines: number
  readonly credits: Minor
  readonly debits: Minor
  readonly creditLines: number
  readonly entries: () => AsyncIterable<readonly StatementEntry[]>
}

/** Max34Text, Max35Text, Max140Text of the schema. */
const chars = { id: 35, account: 34, name: 140, remittance: 140 } as const

/** The schema allows 18 digits in an amount. */
export const camt053MinorMax: Minor = 10n ** 18n - 1n

const magnitude = (minor: Minor) => (minor < 0n ? -minor : minor)
const indicator = (minor: Minor) => element('CdtDbtInd', minor < 0n ? 'DBIT' : 'CRDT')

function balance(code: 'OPBD' | 'CLBD', amount: Minor, currency: Currency, at: Date): string {
  return element(
    'Bal',
    element('Tp', element('CdOrPrtry', element('Cd', code))) +
      amountXml(amount, currency) +
      indicator(amount) +
      element('Dt', element('DtTm', at.toISOString())),
  )
}

const amountXml = (minor: Minor, currency: Currency) =>
  `<Amt Ccy="${currency}">${amountText(magnitude(minor), currency)}</Amt>`

function summary({ version, lines, credits, debits, creditLines, account: { currency } }: BankStatement): string {
  // A sum may be longer than an amount, and is optional.
  const sum = (minor: Minor) => (minor > camt053MinorMax ? '' : element('Sum', amountText(minor, currency)))
  const count = (number: number) => element('NbOfNtries', String(number))
  const net = credits - debits
  const netAmount = (name: string) => element(name, amountText(magnitude(net), currency)) + indicator(net)
  const netText = version === '02' ? netAmount('TtlNetNtryAmt') : element('TtlNetNtry', netAmount('Amt'))
  const netEntry = magnitude(net) > camt053MinorMax ? '' : netText
  return element(
    'TxsSummry',
    element('TtlNtries', count(lines) + sum(credits + debits) + netEntry) +
      element('TtlCdtNtries', count(creditLines) + sum(credits)) +
      element('TtlDbtNtries', count(lines - creditLines) + sum(debits)),
  )
}

/** Writes an id of at most 35 characters. A longer reference is only in the remittance information. */
const idText = (name: string, id: string | null | undefined): string =>
  id && Array.from(id).length <= chars.id ? element(name, xmlText(id)) : ''

/** Writes the references. Version 02 has no element for the account owner's reference, which is written as InstrId. */
function referencesText(version: Camt053Version, reference: string, payment: EntryPayment | undefined): string {
  const endToEndId = idText('EndToEndId', payment?.endToEndId) || element('EndToEndId', 'NOTPROVIDED')
  return version === '02'
    ? idText('AcctSvcrRef', reference) + idText('InstrId', payment?.userReference) + endToEndId
    : endToEndId + idText('AcctOwnrTxId', payment?.userReference) + idText('AcctSvcrTxId', reference)
}

const remittanceText = (text: string | null | undefined): string =>
  text ? element('Ustrd', xmlText(shorten(text, chars.remittance))) : ''

const ibanForm = /^[A-Z]{2}\d{2}[A-Za-z0-9]{1,30}$/

/** Writes the counterparty: the creditor of a debit, the debtor of a credit. */
function partiesText(
  version: Camt053Version,
  amount: Minor,
  { name = null, account = null }: Partial<EntryPayment> = {},
): string {
  const side = amount < 0n ? 'Cdtr' : 'Dbtr'
  const id = (text: string) =>
    ibanForm.test(text) ? element('IBAN', text) : element('Othr', element('Id', xmlText(shorten(text, chars.account))))
  const named = name ? element('Nm', xmlText(shorten(name, chars.name))) : ''
  const party = named && element(side, version === '02' ? named : element('Pty', named))
  const held = account ? element(`${side}Acct`, element('Id', id(account))) : ''
  return party || held ? element('RltdPties', party + held) : ''
}

function entryText(entry: StatementEntry, version: Camt053Version, currency: Currency): string {
  const { id, amount, bookedAt, reference, payment, text } = entry
  const [domain, family, subFamily] = entry.code
  const code = element('Cd', family) + element('SubFmlyCd', subFamily)
  const money = amountXml(amount, currency) + indicator(amount)
  return element(
    'Ntry',
    element('NtryRef', id) +
      money +
      element('Sts', version === '02' ? 'BOOK' : element('Cd', 'BOOK')) +
      element('BookgDt', element('DtTm', bookedAt)) +
      element('ValDt', element('DtTm', bookedAt)) +
      element('AcctSvcrRef', id) +
      element('BkTxCd', element('Domn', element('Cd', domain) + element('Fmly', code))) +
      element(
        'NtryDtls',
        element(
          'TxDtls',
          element('Refs', referencesText(version, reference, payment)) +
            (version === '02' ? element('AmtDtls', element('TxAmt', amountXml(amount, currency))) : money) +
            partiesText(version, amount, payment) +
            element('RmtInf', [...new Set([reference, payment?.userReference])].map(remittanceText).join('')),
        ),
      ) +
      element('AddtlNtryInf', xmlText(text)),
  )
}

/** Writes the document in parts, with a line for each entry. */
export async function* camt053Xml(statement: BankStatement): AsyncGenerator<string> {
  const { version, id, createdAt, period, account, opening, closing, entries } = statement
  const { currency } = account
  const created = element('CreDtTm', createdAt.toISOString())
  yield `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${messageNamespace(`camt.053.001.${version}`)}"><BkToCstmrStmt>`
  yield element('GrpHdr', element('MsgId', id) + created)
  yield `\n<Stmt>${element('Id', id)}${created}`
  yield element('FrToDt', element('FrDtTm', period.from.toISOString()) + element('ToDtTm', period.to.toISOString()))
  yield element(
    'Acct',
    element('Id', element('Othr', element('Id', account.id))) +
      element('Ccy', currency) +
      element('Ownr', element('Nm', xmlText(shorten(account.ownerName, chars.name)))),
  )
  yield balance('OPBD', opening, currency, period.from)
  yield balance('CLBD', closing, currency, period.to)
  yield summary(statement)
  for await (const part of entries()) {
    let text = ''
    for (const entry of part) text += `\n${entryText(entry, version, currency)}`
    yield text
  }
  yield '\n</Stmt></BkToCstmrStmt></Document>\n'
}
