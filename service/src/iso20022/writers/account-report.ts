/** Writes camt.052.001.08, camt.053.001.08 and camt.054.001.08. */
import { messageElements, messageNamespace, reportElements } from '../messages.ts'
import type {
  Balance,
  BankEntry,
  Charge,
  EntryDetail,
  EntryTotals,
  ExchangedAmount,
  ReportHead,
  ReportKind,
  ReportPart,
  StatementHead,
  TransactionCodes,
} from '../model.ts'
import { declaration, element, optionalElement, wrapElement, xmlText } from '../xml/text.ts'
import {
  accountContent,
  accountXml,
  agentXml,
  amountXml,
  chosenPartyXml,
  codeXml,
  dateXml,
  directionXml,
  flagXml,
  numberXml,
  partyXml,
  reasonXml,
  remittanceXml,
} from './values.ts'

const pageXml = (name: string, page: StatementHead['page']): string =>
  page === undefined ? '' : element(name, element('PgNb', page.number) + element('LastPgInd', String(page.isLast)))

const headXml = (head: ReportHead): string =>
  element(
    'GrpHdr',
    element('MsgId', xmlText(head.messageId)) +
      element('CreDtTm', head.createdAt) +
      partyXml('MsgRcpt', head.recipient) +
      pageXml('MsgPgntn', head.page) +
      optionalElement('AddtlInf', head.information),
  )

const balanceXml = (balance: Balance): string =>
  element(
    'Bal',
    element('Tp', codeXml('CdOrPrtry', balance.type) + codeXml('SubTp', balance.subType)) +
      balance.creditLines
        .map(({ isIncluded, amount }) => element('CdtLine', flagXml('Incl', isIncluded) + amountXml('Amt', amount)))
        .join('') +
      amountXml('Amt', balance.amount) +
      directionXml(balance.isCredit) +
      dateXml('Dt', balance.date),
  )

function totalsXml(totals: EntryTotals | undefined): string {
  if (totals === undefined) return ''
  const { count, sum, net, netIsCredit, creditCount, creditSum, debitCount, debitSum } = totals
  const netXml = net === undefined ? '' : element('TtlNetNtry', element('Amt', net) + directionXml(netIsCredit ?? true))
  return wrapElement(
    'TxsSummry',
    wrapElement('TtlNtries', numberXml('NbOfNtries', count) + optionalElement('Sum', sum) + netXml) +
      wrapElement('TtlCdtNtries', numberXml('NbOfNtries', creditCount) + optionalElement('Sum', creditSum)) +
      wrapElement('TtlDbtNtries', numberXml('NbOfNtries', debitCount) + optionalElement('Sum', debitSum)),
  )
}

function statementXml(statement: StatementHead, kind: ReportKind): string {
  const { account } = statement
  return (
    element('Id', xmlText(statement.id)) +
    pageXml(reportElements[kind].page, statement.page) +
    optionalElement('ElctrncSeqNb', statement.electronicSequence) +
    optionalElement('LglSeqNb', statement.legalSequence) +
    optionalElement('CreDtTm', statement.createdAt) +
    wrapElement('FrToDt', optionalElement('FrDtTm', statement.from) + optionalElement('ToDtTm', statement.to)) +
    optionalElement('CpyDplctInd', statement.copy) +
    element(
      'Acct',
      accountContent(account.id) +
        optionalElement('Ccy', account.currency) +
        optionalElement('Nm', account.name) +
        partyXml('Ownr', account.owner) +
        agentXml('Svcr', account.servicer),
    ) +
    statement.balances.map(balanceXml).join('') +
    totalsXml(statement.totals)
  )
}

function codesContent(codes: TransactionCodes): string {
  const { domain, family, subFamily, proprietary, proprietaryIssuer } = codes
  const familyXml = wrapElement('Fmly', optionalElement('Cd', family) + optionalElement('SubFmlyCd', subFamily))
  return (
    wrapElement('Domn', optionalElement('Cd', domain) + familyXml) +
    wrapElement('Prtry', optionalElement('Cd', proprietary) + optionalElement('Issr', proprietaryIssuer))
  )
}

const chargeXml = ({ amount, isCredit, isIncluded, type, bearer }: Charge): string =>
  element(
    'Rcrd',
    amountXml('Amt', amount) +
      directionXml(isCredit) +
      flagXml('ChrgInclInd', isIncluded) +
      (type && 'proprietary' in type
        ? element('Tp', element('Prtry', element('Id', xmlText(type.proprietary))))
        : codeXml('Tp', type)) +
      optionalElement('Br', bearer),
  )

const chargesXml = ({ charges, chargesTotal }: Pick<EntryDetail, 'charges' | 'chargesTotal'>): string =>
  wrapElement('Chrgs', amountXml('TtlChrgsAndTaxAmt', chargesTotal) + charges.map(chargeXml).join(''))

function exchangedXml(name: string, exchanged: ExchangedAmount | undefined): string {
  if (exchanged === undefined) return ''
  const { amount, exchange } = exchanged
  const exchangeXml =
    exchange &&
    element(
      'CcyXchg',
      optionalElement('SrcCcy', exchange.sourceCurrency) +
        optionalElement('TrgtCcy', exchange.targetCurrency) +
        optionalElement('UnitCcy', exchange.unitCurrency) +
        optionalElement('XchgRate', exchange.rate),
    )
  return element(name, amountXml('Amt', amount) + (exchangeXml ?? ''))
}

const amountsXml = (amounts: EntryDetail['amounts']): string =>
  amounts === undefined
    ? ''
    : wrapElement(
        'AmtDtls',
        exchangedXml('InstdAmt', amounts.instructed) +
          exchangedXml('TxAmt', amounts.transaction) +
          exchangedXml('CntrValAmt', amounts.counterValue),
      )

const referencesXml = (refs: EntryDetail['references']): string =>
  wrapElement(
    'Refs',
    optionalElement('MsgId', refs.messageId) +
      optionalElement('AcctSvcrRef', refs.bankReference) +
      optionalElement('PmtInfId', refs.batchId) +
      optionalElement('InstrId', refs.instructionId) +
      optionalElement('EndToEndId', refs.endToEndId) +
      optionalElement('UETR', refs.uetr) +
      optionalElement('TxId', refs.transactionId) +
      optionalElement('MndtId', refs.mandateId) +
      optionalElement('ChqNb', refs.chequeNumber) +
      optionalElement('ClrSysRef', refs.clearingReference) +
      optionalElement('AcctOwnrTxId', refs.accountOwnerId) +
      optionalElement('AcctSvcrTxId', refs.servicerTransactionId) +
      optionalElement('MktInfrstrctrTxId', refs.marketId) +
      optionalElement('PrcgId', refs.processingId) +
      (refs.others ?? [])
        .map(({ type, reference }) => element('Prtry', optionalElement('Tp', type) + optionalElement('Ref', reference)))
        .join(''),
  )

const detailXml = (detail: EntryDetail): string =>
  element(
    'TxDtls',
    referencesXml(detail.references) +
      amountXml('Amt', detail.amount) +
      directionXml(detail.isCredit) +
      amountsXml(detail.amounts) +
      (detail.codes ? element('BkTxCd', codesContent(detail.codes)) : '') +
      chargesXml(detail) +
      wrapElement(
        'RltdPties',
        chosenPartyXml('InitgPty', detail.initiator) +
          chosenPartyXml('Dbtr', detail.debtor) +
          accountXml('DbtrAcct', detail.debtorAccount) +
          chosenPartyXml('UltmtDbtr', detail.ultimateDebtor) +
          chosenPartyXml('Cdtr', detail.creditor) +
          accountXml('CdtrAcct', detail.creditorAccount) +
          chosenPartyXml('UltmtCdtr', detail.ultimateCreditor),
      ) +
      wrapElement('RltdAgts', agentXml('DbtrAgt', detail.debtorAgent) + agentXml('CdtrAgt', detail.creditorAgent)) +
      codeXml('Purp', detail.purpose) +
      remittanceXml(detail.remittance) +
      wrapElement(
        'RltdDts',
        optionalElement('AccptncDtTm', detail.acceptedAt) + optionalElement('IntrBkSttlmDt', detail.settlementDate),
      ) +
      (detail.returned ? reasonXml('RtrInf', detail.returned) : '') +
      optionalElement('AddtlTxInf', detail.information),
  )

/** Writes the batches and payments. Each batch has its own NtryDtls; the payments are in the last one. */
function detailsXml({ batches, details }: BankEntry): string {
  const batchXml = batches.map((batch) =>
    element(
      'Btch',
      optionalElement('MsgId', batch.messageId) +
        optionalElement('PmtInfId', batch.batchId) +
        numberXml('NbOfTxs', batch.count) +
        amountXml('TtlAmt', batch.sum) +
        directionXml(batch.isCredit),
    ),
  )
  const before = batchXml.slice(0, -1).map((batch) => element('NtryDtls', batch))
  return before.join('') + wrapElement('NtryDtls', (batchXml.at(-1) ?? '') + details.map(detailXml).join(''))
}

const entryXml = (entry: BankEntry): string =>
  element(
    'Ntry',
    optionalElement('NtryRef', entry.reference) +
      amountXml('Amt', entry.amount) +
      directionXml(entry.isCredit) +
      (entry.isReversal ? element('RvslInd', 'true') : '') +
      element('Sts', optionalElement(/^[A-Z]{4}$/.test(entry.status) ? 'Cd' : 'Prtry', entry.status)) +
      dateXml('BookgDt', entry.bookingDate) +
      dateXml('ValDt', entry.valueDate) +
      optionalElement('AcctSvcrRef', entry.bankReference) +
      element('BkTxCd', codesContent(entry.codes)) +
      wrapElement(
        'AddtlInfInd',
        optionalElement('MsgNmId', entry.detailsIn?.messageName) + optionalElement('MsgId', entry.detailsIn?.messageId),
      ) +
      amountsXml(entry.amounts) +
      chargesXml(entry) +
      detailsXml(entry) +
      optionalElement('AddtlNtryInf', entry.information),
  )

/** Writes the document in parts, always in version 08. */
export function* accountReportXml(parts: Iterable<ReportPart>): Generator<string> {
  let kind: ReportKind = 'camt.053'
  yield declaration
  for (const part of parts) {
    const { statement, information } = reportElements[kind]
    if (part.kind === 'head') {
      kind = part.head.kind
      yield `<Document xmlns="${messageNamespace(`${kind}.001.08`)}"><${messageElements[kind]}>${headXml(part.head)}`
    } else if (part.kind === 'statement') yield `\n<${statement}>${statementXml(part.statement, kind)}`
    else if (part.kind === 'entry') yield `\n${entryXml(part.entry)}`
    else yield `${optionalElement(information, part.information)}</${statement}>`
  }
  yield `\n</${messageElements[kind]}></Document>\n`
}
