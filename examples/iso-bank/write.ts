/** Writes the bank's messages: pain.002, camt.052, camt.053, camt.054 and camt.029, in the versions of today and the ones before. */
import type { Entry, EntryDetail, Other, Settings } from './model.ts'

type Version = Settings['version']

const escaped = (text: string): string =>
  text.replace(/[&<>]/g, (character) => (character === '&' ? '&amp;' : character === '<' ? '&lt;' : '&gt;'))
const tag = (name: string, ...content: readonly string[]): string => `<${name}>${content.join('')}</${name}>`
const text = (name: string, content: string | null | undefined): string =>
  content === null || content === undefined ? '' : tag(name, escaped(content))

export function decimal(cents: bigint): string {
  const digits = (cents < 0n ? -cents : cents).toString().padStart(3, '0')
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}
const positive = (cents: bigint): bigint => (cents < 0n ? -cents : cents)
const money = (name: string, cents: bigint, currency: string) =>
  `<${name} Ccy="${currency}">${decimal(positive(cents))}</${name}>`
const sign = (isCredit: boolean): string => tag('CdtDbtInd', isCredit ? 'CRDT' : 'DBIT')

const documentOf = (name: string, ...content: readonly string[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${name}">${content.join('')}</Document>\n`

/** `text`: why, if it was rejected. */
export type PaymentStatus = {
  readonly instructionId: string
  readonly endToEndId: string
  readonly batchId: string
  readonly status: string
  readonly code?: string
}
export type StatusReport = {
  readonly messageId: string
  readonly at: Date
  readonly originalMessageId: string
  readonly groupStatus?: string
  readonly code?: string
  readonly payments: readonly PaymentStatus[]
}

const reason = (code: string | undefined): string =>
  code === undefined ? '' : tag('StsRsnInf', tag('Rsn', text('Cd', code)))

export function pain002(version: Version, report: StatusReport): string {
  const batches = [...Map.groupBy(report.payments, ({ batchId }) => batchId)].map(([batchId, payments]) =>
    tag(
      'OrgnlPmtInfAndSts',
      text('OrgnlPmtInfId', batchId),
      ...payments.map(({ instructionId, endToEndId, status, code }) =>
        tag(
          'TxInfAndSts',
          text('OrgnlInstrId', instructionId),
          text('OrgnlEndToEndId', endToEndId),
          tag('TxSts', status),
          reason(code),
        ),
      ),
    ),
  )
  return documentOf(
    version === 'current' ? 'pain.002.001.10' : 'pain.002.001.03',
    tag(
      'CstmrPmtStsRpt',
      tag('GrpHdr', text('MsgId', report.messageId), tag('CreDtTm', report.at.toISOString())),
      tag(
        'OrgnlGrpInfAndSts',
        text('OrgnlMsgId', report.originalMessageId),
        tag('OrgnlMsgNmId', 'pain.001.001.09'),
        text('GrpSts', report.groupStatus),
        reason(report.code),
      ),
      ...batches,
    ),
  )
}

export type Report = {
  readonly kind: 'camt.052' | 'camt.053' | 'camt.054'
  readonly messageId: string
  readonly at: Date
  readonly account: { readonly iban: string; readonly currency: string; readonly owner: string }
  readonly bic: string
  readonly sequence: number
  readonly balances?: { readonly opening: bigint; readonly closing: bigint }
  readonly entries: readonly Entry[]
  /** Whether the sum of the entries is stated wrong. */
  readonly isSumWrong?: boolean
}

const elements = {
  'camt.052': ['BkToCstmrAcctRpt', 'Rpt'],
  'camt.053': ['BkToCstmrStmt', 'Stmt'],
  'camt.054': ['BkToCstmrDbtCdtNtfctn', 'Ntfctn'],
} as const

const day = (at: string): string => at.slice(0, 10)

const agent = (version: Version, bic: string | undefined): string =>
  bic === undefined ? '' : tag('FinInstnId', text(version === 'current' ? 'BICFI' : 'BIC', bic))

export function report(version: Version, { kind, messageId, at, account, bic, sequence, ...rest }: Report): string {
  const [message, statement] = elements[kind]
  const { entries, balances } = rest
  const created = tag('CreDtTm', at.toISOString())
  const balance = (code: string, amount: bigint) =>
    tag(
      'Bal',
      tag('Tp', tag('CdOrPrtry', tag('Cd', code))),
      money('Amt', amount, account.currency),
      sign(amount >= 0n),
      tag('Dt', tag('Dt', day(at.toISOString()))),
    )
  return documentOf(
    `${kind}.001.${version === 'current' ? '08' : '02'}`,
    tag(
      message,
      tag('GrpHdr', text('MsgId', messageId), created),
      tag(
        statement,
        text('Id', `${kind.slice(5)}-${account.currency}-${sequence}`),
        tag('ElctrncSeqNb', String(sequence)),
        created,
        tag(
          'Acct',
          tag('Id', tag('IBAN', account.iban)),
          tag('Ccy', account.currency),
          tag('Ownr', text('Nm', account.owner)),
          tag('Svcr', agent(version, bic)),
        ),
        ...(balances ? [balance('OPBD', balances.opening), balance('CLBD', balances.closing)] : []),
        totals(entries, rest.isSumWrong === true),
        ...entries.map((entry) => entryXml(version, kind, entry)),
      ),
    ),
  )
}

const sumOf = (entries: readonly Entry[]): bigint => entries.reduce((sum, { amount }) => sum + positive(amount), 0n)

function totals(entries: readonly Entry[], isWrong: boolean): string {
  const credits = entries.filter(({ amount }) => amount > 0n)
  const debits = entries.filter(({ amount }) => amount < 0n)
  const part = (name: string, some: readonly Entry[]) =>
    tag(name, tag('NbOfNtries', String(some.length)), tag('Sum', decimal(sumOf(some))))
  const sum = tag('Sum', decimal(sumOf(entries) + (isWrong ? 100n : 0n)))
  return tag(
    'TxsSummry',
    tag('TtlNtries', tag('NbOfNtries', String(entries.length)), sum),
    part('TtlCdtNtries', credits),
    part('TtlDbtNtries', debits),
  )
}

function entryXml(version: Version, kind: Report['kind'], entry: Entry): string {
  const { ref, amount, currency, at, codes, batch, details } = entry
  const [domain, family, subFamily] = codes
  const isShown = entry.shows === 'at once' || (entry.shows === 'with the statement' && kind === 'camt.053')
  const summed =
    batch === null
      ? ''
      : tag(
          'Btch',
          text('MsgId', batch.messageId),
          text('PmtInfId', batch.batchId),
          tag('NbOfTxs', String(batch.count)),
          money('TtlAmt', amount, currency),
          sign(amount > 0n),
        )
  const parts = isShown ? details.map((detail) => detailXml(version, entry, detail)) : []
  return tag(
    'Ntry',
    text('NtryRef', ref),
    money('Amt', amount, currency),
    sign(amount > 0n),
    entry.isReversal ? tag('RvslInd', 'true') : '',
    version === 'current' ? tag('Sts', tag('Cd', 'BOOK')) : tag('Sts', 'BOOK'),
    tag('BookgDt', tag('Dt', day(at))),
    tag('ValDt', tag('Dt', day(at))),
    text('AcctSvcrRef', ref),
    tag('BkTxCd', tag('Domn', tag('Cd', domain), tag('Fmly', tag('Cd', family), tag('SubFmlyCd', subFamily)))),
    summed + parts.join('') === '' ? '' : tag('NtryDtls', summed, ...parts),
    text('AddtlNtryInf', entry.text),
  )
}

const party = (version: Version, name: string, { name: called }: Other) =>
  tag(name, version === 'current' ? tag('Pty', text('Nm', called)) : text('Nm', called))
const ultimate = (version: Version, name: 'Dbtr' | 'Cdtr', { onBehalfOf }: Other) =>
  onBehalfOf === undefined ? '' : party(version, `Ultmt${name}`, { name: onBehalfOf })
const accountOf = (name: string, { iban }: Other) => (iban === undefined ? '' : tag(name, tag('Id', tag('IBAN', iban))))

function parties(version: Version, { debtor, creditor }: EntryDetail): string {
  const related = [
    debtor ? party(version, 'Dbtr', debtor) + accountOf('DbtrAcct', debtor) + ultimate(version, 'Dbtr', debtor) : '',
    creditor ? party(version, 'Cdtr', creditor) + accountOf('CdtrAcct', creditor) + ultimate(version, 'Cdtr', creditor) : '',
  ].join('')
  const agents = [
    debtor?.bic === undefined ? '' : tag('DbtrAgt', agent(version, debtor.bic)),
    creditor?.bic === undefined ? '' : tag('CdtrAgt', agent(version, creditor.bic)),
  ].join('')
  return (related === '' ? '' : tag('RltdPties', related)) + (agents === '' ? '' : tag('RltdAgts', agents))
}

function detailXml(version: Version, { currency, ref }: Entry, detail: EntryDetail): string {
  const { amount, charge, isCredit, remittance, reference, returnCode } = detail
  const refs = tag(
    'Refs',
    text('MsgId', detail.messageId),
    text('AcctSvcrRef', ref),
    text('PmtInfId', detail.batchId),
    text('InstrId', detail.instructionId),
    text('EndToEndId', detail.endToEndId ?? 'NOTPROVIDED'),
    text('TxId', detail.transactionId),
  )
  const amounts =
    version === 'current'
      ? money('Amt', amount, currency) + sign(isCredit)
      : tag('AmtDtls', tag('TxAmt', money('Amt', amount, currency)))
  const charges =
    charge === null
      ? ''
      : tag('Chrgs', tag('Rcrd', money('Amt', charge, currency), sign(false), tag('ChrgInclInd', 'true')))
  const structured = reference === null ? '' : tag('Strd', tag('CdtrRefInf', text('Ref', reference)))
  const remitted = text('Ustrd', remittance) + structured
  return tag(
    'TxDtls',
    refs,
    amounts,
    charges,
    parties(version, detail),
    remitted === '' ? '' : tag('RmtInf', remitted),
    returnCode === null ? '' : tag('RtrInf', tag('Rsn', text('Cd', returnCode))),
  )
}

export type RecallAnswer = {
  readonly messageId: string
  readonly at: Date
  readonly caseId: string
  readonly isAccepted: boolean
  readonly payments: readonly {
    readonly cancellationId: string
    readonly instructionId: string | null
    readonly endToEndId: string
    /** Null: it is taken back. */
    readonly code: string | null
  }[]
}

export function camt029(answer: RecallAnswer): string {
  const payments = answer.payments.map(({ cancellationId, instructionId, endToEndId, code }) =>
    tag(
      'TxInfAndSts',
      text('CxlStsId', cancellationId),
      text('OrgnlInstrId', instructionId),
      text('OrgnlEndToEndId', endToEndId),
      tag('TxCxlSts', code === null ? 'ACCR' : 'RJCR'),
      code === null ? '' : tag('CxlStsRsnInf', tag('Rsn', tag('Cd', code))),
    ),
  )
  return documentOf(
    'camt.029.001.09',
    tag(
      'RsltnOfInvstgtn',
      tag(
        'Assgnmt',
        text('Id', answer.messageId),
        tag('Assgnr', tag('Agt', tag('FinInstnId', tag('BICFI', 'TESTDEFFXXX')))),
        tag('Assgne', tag('Pty', tag('Nm', 'Company'))),
        tag('CreDtTm', answer.at.toISOString()),
      ),
      tag('RslvdCase', text('Id', answer.caseId), tag('Cretr', tag('Pty', tag('Nm', 'Company')))),
      tag('Sts', tag('Conf', answer.isAccepted ? 'CNCL' : 'RJCR')),
      tag('CxlDtls', tag('OrgnlPmtInfAndSts', tag('OrgnlPmtInfId', 'UNKNOWN'), ...payments)),
    ),
  )
}
