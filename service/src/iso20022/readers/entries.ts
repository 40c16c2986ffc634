/** Reads the entries of an account report and their payments. */
import type {
  Amount,
  AmountDetails,
  BankEntry,
  Charge,
  EntryBatch,
  EntryDetail,
  ExchangedAmount,
  TransactionCodes,
} from '../model.ts'
import { MessageProblem } from '../source.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import {
  all,
  amountOf,
  anyGiven,
  at,
  codeOf,
  dateOf,
  flag,
  given,
  isCredit,
  needed,
  number,
  one,
  statedAmount,
  statedAmountOf,
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

/** Reads the charges. Newer messages have a total and records in Chrgs; older ones have a Chrgs for each charge. */
function chargesOf(node: Node): Pick<EntryDetail, 'charges' | 'chargesTotal'> {
  const found = all(node, 'Chrgs')
  const records = found.flatMap((charges) => {
    const rows = all(charges, 'Rcrd')
    return rows.length > 0 ? rows : one(charges, 'Amt') ? [charges] : []
  })
  const total = found.length === 1 ? statedAmount(found[0], 'TtlChrgsAndTaxAmt') : undefined
  return given<Pick<EntryDetail, 'charges' | 'chargesTotal'>>({
    charges: records.flatMap((row) => chargeOf(row) ?? []),
    chargesTotal: total,
  })
}

/** Reads a charge; undefined if it does not have an amount. */
function chargeOf(node: Node): Charge | undefined {
  const stated = statedAmount(node, 'Amt')
  if (stated === undefined) return undefined
  return given<Charge>({
    amount: stated,
    isCredit: isCredit(node),
    isIncluded: flag(node, 'ChrgInclInd'),
    type: codeOf(one(node, 'Tp')),
    bearer: token(node, 'Br'),
  })
}

function exchangedOf(node: Node | undefined): ExchangedAmount | undefined {
  const found = statedAmount(node, 'Amt')
  if (found === undefined) return undefined
  const exchange = one(node, 'CcyXchg')
  if (exchange === undefined) return { amount: found }
  const [sourceCurrency, rate] = [token(exchange, 'SrcCcy'), token(exchange, 'XchgRate')]
  if (sourceCurrency === undefined || rate === undefined) return { amount: found }
  const fields = given<NonNullable<ExchangedAmount['exchange']>>({
    sourceCurrency,
    targetCurrency: token(exchange, 'TrgtCcy'),
    unitCurrency: token(exchange, 'UnitCcy'),
    rate,
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

/** Reads TxDtls. Without Amt, its amount depends on the currency of the entry (`withAmount`). */
export function detailOf(node: Node): EntryDetail {
  const [parties, agents, dates] = [one(node, 'RltdPties'), one(node, 'RltdAgts'), one(node, 'RltdDts')]
  const codes = one(node, 'BkTxCd')
  const returned = one(node, 'RtrInf')
  return given<EntryDetail>({
    references: referencesOf(one(node, 'Refs')),
    amount: statedAmount(node, 'Amt'),
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

/** Adds the amount of a payment in an older message: the sent amount or its counter value, in the entry's currency. */
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
    sum: statedAmount(node, 'TtlAmt'),
    isCredit: isCredit(node),
  })
}

/** Reads the status: a text until 2013, a choice of codes since then. */
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

/** Returns undefined if a part is invalid. Other problems, such as exceeded limits, are thrown. */
export function readOr<T>(read: () => T, failed: (problem: MessageProblem) => void = () => undefined): T | undefined {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MessageProblem) || error.code !== 'not_in_schema') throw error
    failed(error)
    return undefined
  }
}

/**
 * Reads Ntry, whose payments were already read. `broken`: the problem of an unreadable payment. An unreadable entry keeps
 * its readable fields, and other entries are not affected.
 */
export function entryOf(node: Node, details: readonly EntryDetail[], broken: MessageProblem | undefined): BankEntry {
  let problem = broken
  const entry =
    broken === undefined
      ? readOr(
          () => wholeEntry(node, details),
          (found) => (problem = found),
        )
      : undefined
  return entry ?? partOfEntry(node, problem)
}

/** Reads the fields by which an unreadable entry is recognised and decided. Without a direction, its amount is dropped. */
function partOfEntry(node: Node, problem: MessageProblem | undefined): BankEntry {
  const written = readOr(() => one(node, 'Amt'))
  const direction = readOr(() => isCredit(node))
  const exact = written && readOr(() => amountOf(written))
  const stated = written && readOr(() => statedAmountOf(written))
  const text = direction === undefined || stated?.minor !== null ? '' : stated.text
  const status = readOr(() => statusOf(node)) ?? 'BOOK'
  return given<BankEntry>({
    problem: problem === undefined ? 'it cannot be read' : `${problem.message} (line ${problem.line}, ${problem.path})`,
    reference: readOr(() => token(node, 'NtryRef')),
    amount: (direction === undefined ? undefined : exact) ?? { currency: stated?.currency ?? '', minor: null, text },
    isCredit: direction ?? true,
    isReversal: readOr(() => flag(node, 'RvslInd')) ?? false,
    status,
    bookingDate: readOr(() => dateOf(one(node, 'BookgDt'))),
    valueDate: readOr(() => dateOf(one(node, 'ValDt'))),
    bankReference: readOr(() => token(node, 'AcctSvcrRef')),
    codes: readOr(() => codesOf(one(node, 'BkTxCd'))) ?? {},
    charges: [],
    batches: [],
    details: [],
  })
}

function wholeEntry(node: Node, details: readonly EntryDetail[]): BankEntry {
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
