/** Entries of an account report and the payments within them. */
import type {
  AmountDetails,
  BankEntry,
  Charge,
  EntryBatch,
  EntryDetail,
  ExchangedAmount,
  TransactionCodes,
} from '../model-report.ts'
import type { Amount } from '../model.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import {
  all,
  amount,
  amountOf,
  anyGiven,
  at,
  codeOf,
  dateOf,
  flag,
  given,
  isCredit,
  needed,
  neededToken,
  number,
  one,
  text,
  texts,
  time,
  token,
  tokenOf,
} from './nodes.ts'
import { accountOf, agentOf, partyOf, reasonOf, remittanceOf } from './values.ts'

function codesOf(node: Node | undefined): TransactionCodes {
  const domain = one(node, 'Domn')
  const family = one(domain, 'Fmly')
  const own = one(node, 'Prtry')
  return given<TransactionCodes>({
    domain: token(domain, 'Cd'),
    family: token(family, 'Cd'),
    subFamily: token(family, 'SubFmlyCd'),
    proprietary: token(own, 'Cd'),
    proprietaryIssuer: token(own, 'Issr'),
  })
}

/** Newer messages have a total and records below Chrgs; older ones have a Chrgs for each charge. */
function chargesOf(node: Node): Pick<EntryDetail, 'charges' | 'chargesTotal'> {
  const found = all(node, 'Chrgs')
  const records = found.flatMap((charges) => {
    const rows = all(charges, 'Rcrd')
    return rows.length > 0 ? rows : one(charges, 'Amt') ? [charges] : []
  })
  const total = found.length === 1 ? amount(found[0], 'TtlChrgsAndTaxAmt') : undefined
  return given<Pick<EntryDetail, 'charges' | 'chargesTotal'>>({ charges: records.map(chargeOf), chargesTotal: total })
}

const chargeOf = (node: Node): Charge =>
  given<Charge>({
    amount: amountOf(needed(node, 'Amt')),
    isCredit: isCredit(node),
    isIncluded: flag(node, 'ChrgInclInd'),
    type: codeOf(one(node, 'Tp')),
    bearer: token(node, 'Br'),
  })

function exchangedOf(node: Node | undefined): ExchangedAmount | undefined {
  const found = amount(node, 'Amt')
  if (found === undefined) return undefined
  const exchange = one(node, 'CcyXchg')
  if (exchange === undefined) return { amount: found }
  const fields = given<NonNullable<ExchangedAmount['exchange']>>({
    sourceCurrency: neededToken(exchange, 'SrcCcy'),
    targetCurrency: token(exchange, 'TrgtCcy'),
    unitCurrency: token(exchange, 'UnitCcy'),
    rate: neededToken(exchange, 'XchgRate'),
  })
  return { amount: found, exchange: fields }
}

const amountsOf = (node: Node | undefined): AmountDetails | undefined =>
  node &&
  anyGiven<AmountDetails>({
    instructed: exchangedOf(one(node, 'InstdAmt')),
    transaction: exchangedOf(one(node, 'TxAmt')),
    counterValue: exchangedOf(one(node, 'CntrValAmt')),
  })

function referencesOf(node: Node | undefined): EntryDetail['references'] {
  const others = all(node, 'Prtry').flatMap((other) => {
    const [type, reference] = [token(other, 'Tp'), token(other, 'Ref')]
    return type === undefined || reference === undefined ? [] : [{ type, reference }]
  })
  return given<EntryDetail['references']>({
    messageId: token(node, 'MsgId'),
    bankReference: token(node, 'AcctSvcrRef'),
    batchId: token(node, 'PmtInfId'),
    instructionId: token(node, 'InstrId'),
    endToEndId: token(node, 'EndToEndId'),
    uetr: token(node, 'UETR'),
    transactionId: token(node, 'TxId'),
    mandateId: token(node, 'MndtId'),
    chequeNumber: token(node, 'ChqNb'),
    clearingReference: token(node, 'ClrSysRef'),
    accountOwnerId: token(node, 'AcctOwnrTxId'),
    servicerTransactionId: token(node, 'AcctSvcrTxId'),
    marketId: token(node, 'MktInfrstrctrTxId'),
    processingId: token(node, 'PrcgId'),
    others: others.length === 0 ? undefined : others,
  })
}

/** Reads TxDtls. Its amount, if it has no Amt, depends on the currency of the entry: `withAmount`. */
export function detailOf(node: Node): EntryDetail {
  const [parties, agents, dates] = [one(node, 'RltdPties'), one(node, 'RltdAgts'), one(node, 'RltdDts')]
  const codes = one(node, 'BkTxCd')
  const returned = one(node, 'RtrInf')
  return given<EntryDetail>({
    references: referencesOf(one(node, 'Refs')),
    amount: amount(node, 'Amt'),
    isCredit: isCredit(node),
    amounts: amountsOf(one(node, 'AmtDtls')),
    codes: codes && codesOf(codes),
    ...chargesOf(node),
    initiator: partyOf(one(parties, 'InitgPty')),
    debtor: partyOf(one(parties, 'Dbtr')),
    debtorAccount: accountOf(one(parties, 'DbtrAcct')),
    ultimateDebtor: partyOf(one(parties, 'UltmtDbtr')),
    creditor: partyOf(one(parties, 'Cdtr')),
    creditorAccount: accountOf(one(parties, 'CdtrAcct')),
    ultimateCreditor: partyOf(one(parties, 'UltmtCdtr')),
    debtorAgent: agentOf(one(agents, 'DbtrAgt')),
    creditorAgent: agentOf(one(agents, 'CdtrAgt')),
    purpose: codeOf(one(node, 'Purp')),
    remittance: remittanceOf(one(node, 'RmtInf')),
    acceptedAt: time(dates, 'AccptncDtTm'),
    settlementDate: time(dates, 'IntrBkSttlmDt'),
    returned: returned && reasonOf(returned),
    information: text(node, 'AddtlTxInf'),
  })
}

/** The amount of a payment in an older message: the sent amount or its counter value, in the currency of the entry. */
function withAmount(detail: EntryDetail, { currency }: Amount): EntryDetail {
  const { transaction, counterValue } = detail.amounts ?? {}
  if (detail.amount) return detail
  const found = [transaction, counterValue].find((candidate) => candidate?.amount.currency === currency)
  return found ? { ...detail, amount: found.amount } : detail
}

function batchOf(node: Node): EntryBatch | undefined {
  return anyGiven<EntryBatch>({
    messageId: token(node, 'MsgId'),
    batchId: token(node, 'PmtInfId'),
    count: number(node, 'NbOfTxs'),
    sum: amount(node, 'TtlAmt'),
    isCredit: isCredit(node),
  })
}

/** A text until 2013, a choice of codes since then. */
function statusOf(node: Node): string {
  const status = needed(node, 'Sts')
  const code = status.children.length > 0 ? codeOf(status) : undefined
  const found = code
    ? 'code' in code
      ? code.code
      : code.proprietary
    : status.children.length > 0
      ? ''
      : tokenOf(status)
  return found === undefined || found === '' ? refuseAt(status, 'Sts is empty') : found
}

/** Reads Ntry, whose payments were read as they ended. */
export function entryOf(node: Node, details: readonly EntryDetail[]): BankEntry {
  const sum = amountOf(needed(node, 'Amt'))
  const direction = isCredit(node)
  if (direction === undefined) refuseAt(node, 'Ntry has no CdtDbtInd')
  const further = texts(node, 'AddtlNtryInf')
  const detailsIn = one(node, 'AddtlInfInd')
  return given<BankEntry>({
    reference: token(node, 'NtryRef'),
    amount: sum,
    isCredit: direction,
    isReversal: flag(node, 'RvslInd') ?? false,
    status: statusOf(node),
    bookingDate: dateOf(one(node, 'BookgDt')),
    valueDate: dateOf(one(node, 'ValDt')),
    bankReference: token(node, 'AcctSvcrRef'),
    codes: codesOf(one(node, 'BkTxCd')),
    ...chargesOf(node),
    amounts: amountsOf(one(node, 'AmtDtls')),
    detailsIn:
      detailsIn && anyGiven({ messageName: token(detailsIn, 'MsgNmId'), messageId: token(detailsIn, 'MsgId') }),
    batches: all(node, 'NtryDtls').flatMap((group) => {
      const batch = at(group, 'Btch')
      return (batch && batchOf(batch)) ?? []
    }),
    details: details.map((detail) => withAmount(detail, sum)),
    information: further.length === 0 ? undefined : further.join('\n'),
  })
}
