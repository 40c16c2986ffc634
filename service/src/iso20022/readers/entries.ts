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
import { type XmlNode, refuseAt } from '../xml/tree.ts'
import {
  childrenNamed,
  readAmount,
  compactOrUndefined,
  descendant,
  readCode,
  readDate,
  childFlag,
  compact,
  isCredit,
  requireChild,
  childNumber,
  onlyChild,
  childInformativeAmount,
  readInformativeAmount,
  childText,
  childTexts,
  childTime,
  childToken,
  nodeToken,
} from './nodes.ts'
import { readAccount, readAgent, readParty, readReason, readRemittance } from './values.ts'

function readTransactionCodes(node: XmlNode | undefined): TransactionCodes {
  const domain = onlyChild(node, 'Domn')
  const family = onlyChild(domain, 'Fmly')
  const own = onlyChild(node, 'Prtry')
  return compact<TransactionCodes>({
    domain: childToken(domain, 'Cd'),
    family: childToken(family, 'Cd'),
    subFamily: childToken(family, 'SubFmlyCd'),
    proprietary: childToken(own, 'Cd'),
    proprietaryIssuer: childToken(own, 'Issr'),
  })
}

/** Reads the charges. Newer messages have a total and records in Chrgs; older ones have a Chrgs for each charge. */
function readCharges(node: XmlNode): Pick<EntryDetail, 'charges' | 'chargesTotal'> {
  const found = childrenNamed(node, 'Chrgs')
  const records = found.flatMap((charges) => {
    const rows = childrenNamed(charges, 'Rcrd')
    return rows.length > 0 ? rows : onlyChild(charges, 'Amt') ? [charges] : []
  })
  const total = found.length === 1 ? childInformativeAmount(found[0], 'TtlChrgsAndTaxAmt') : undefined
  return compact<Pick<EntryDetail, 'charges' | 'chargesTotal'>>({
    charges: records.flatMap((row) => readCharge(row) ?? []),
    chargesTotal: total,
  })
}

/** Reads a charge; undefined if it does not have an amount. */
function readCharge(node: XmlNode): Charge | undefined {
  const stated = childInformativeAmount(node, 'Amt')
  if (stated === undefined) return undefined
  return compact<Charge>({
    amount: stated,
    isCredit: isCredit(node),
    isIncluded: childFlag(node, 'ChrgInclInd'),
    type: readCode(onlyChild(node, 'Tp')),
    bearer: childToken(node, 'Br'),
  })
}

function readExchangedAmount(node: XmlNode | undefined): ExchangedAmount | undefined {
  const found = childInformativeAmount(node, 'Amt')
  if (found === undefined) return undefined
  const exchange = onlyChild(node, 'CcyXchg')
  if (exchange === undefined) return { amount: found }
  const [sourceCurrency, rate] = [childToken(exchange, 'SrcCcy'), childToken(exchange, 'XchgRate')]
  if (sourceCurrency === undefined || rate === undefined) return { amount: found }
  const fields = compact<NonNullable<ExchangedAmount['exchange']>>({
    sourceCurrency,
    targetCurrency: childToken(exchange, 'TrgtCcy'),
    unitCurrency: childToken(exchange, 'UnitCcy'),
    rate,
  })
  return { amount: found, exchange: fields }
}

const readAmountDetails = (node: XmlNode | undefined): AmountDetails | undefined =>
  node &&
  compactOrUndefined<AmountDetails>({
    instructed: readExchangedAmount(onlyChild(node, 'InstdAmt')),
    transaction: readExchangedAmount(onlyChild(node, 'TxAmt')),
    counterValue: readExchangedAmount(onlyChild(node, 'CntrValAmt')),
  })

function readReferences(node: XmlNode | undefined): EntryDetail['references'] {
  const others = childrenNamed(node, 'Prtry').flatMap((other) => {
    const [type, reference] = [childToken(other, 'Tp'), childToken(other, 'Ref')]
    return type === undefined || reference === undefined ? [] : [{ type, reference }]
  })
  return compact<EntryDetail['references']>({
    messageId: childToken(node, 'MsgId'),
    bankReference: childToken(node, 'AcctSvcrRef'),
    batchId: childToken(node, 'PmtInfId'),
    instructionId: childToken(node, 'InstrId'),
    endToEndId: childToken(node, 'EndToEndId'),
    uetr: childToken(node, 'UETR'),
    transactionId: childToken(node, 'TxId'),
    mandateId: childToken(node, 'MndtId'),
    chequeNumber: childToken(node, 'ChqNb'),
    clearingReference: childToken(node, 'ClrSysRef'),
    accountOwnerId: childToken(node, 'AcctOwnrTxId'),
    servicerTransactionId: childToken(node, 'AcctSvcrTxId'),
    marketId: childToken(node, 'MktInfrstrctrTxId'),
    processingId: childToken(node, 'PrcgId'),
    others: others.length === 0 ? undefined : others,
  })
}

/** Reads TxDtls. Without Amt, its amount depends on the currency of the entry (`withAmount`). */
export function readDetail(node: XmlNode): EntryDetail {
  const [parties, agents, dates] = [
    onlyChild(node, 'RltdPties'),
    onlyChild(node, 'RltdAgts'),
    onlyChild(node, 'RltdDts'),
  ]
  const codes = onlyChild(node, 'BkTxCd')
  const returned = onlyChild(node, 'RtrInf')
  return compact<EntryDetail>({
    references: readReferences(onlyChild(node, 'Refs')),
    amount: childInformativeAmount(node, 'Amt'),
    isCredit: isCredit(node),
    amounts: readAmountDetails(onlyChild(node, 'AmtDtls')),
    codes: codes && readTransactionCodes(codes),
    ...readCharges(node),
    initiator: readParty(onlyChild(parties, 'InitgPty')),
    debtor: readParty(onlyChild(parties, 'Dbtr')),
    debtorAccount: readAccount(onlyChild(parties, 'DbtrAcct')),
    ultimateDebtor: readParty(onlyChild(parties, 'UltmtDbtr')),
    creditor: readParty(onlyChild(parties, 'Cdtr')),
    creditorAccount: readAccount(onlyChild(parties, 'CdtrAcct')),
    ultimateCreditor: readParty(onlyChild(parties, 'UltmtCdtr')),
    debtorAgent: readAgent(onlyChild(agents, 'DbtrAgt')),
    creditorAgent: readAgent(onlyChild(agents, 'CdtrAgt')),
    purpose: readCode(onlyChild(node, 'Purp')),
    remittance: readRemittance(onlyChild(node, 'RmtInf')),
    acceptedAt: childTime(dates, 'AccptncDtTm'),
    settlementDate: childTime(dates, 'IntrBkSttlmDt'),
    returned: returned && readReason(returned),
    information: childText(node, 'AddtlTxInf'),
  })
}

/** Adds the amount of a payment in an older message: the sent amount or its counter value, in the entry's currency. */
function withAmount(detail: EntryDetail, { currency }: Amount): EntryDetail {
  const { transaction, counterValue } = detail.amounts ?? {}
  if (detail.amount) return detail
  const found = [transaction, counterValue].find((candidate) => candidate?.amount.currency === currency)
  return found ? { ...detail, amount: found.amount } : detail
}

function readBatch(node: XmlNode): EntryBatch | undefined {
  return compactOrUndefined<EntryBatch>({
    messageId: childToken(node, 'MsgId'),
    batchId: childToken(node, 'PmtInfId'),
    count: childNumber(node, 'NbOfTxs'),
    sum: childInformativeAmount(node, 'TtlAmt'),
    isCredit: isCredit(node),
  })
}

/** Reads the status: a text until 2013, a choice of codes since then. */
function readStatus(node: XmlNode): string {
  const status = requireChild(node, 'Sts')
  const code = status.children.length > 0 ? readCode(status) : undefined
  const found = code
    ? 'code' in code
      ? code.code
      : code.proprietary
    : status.children.length > 0
      ? ''
      : nodeToken(status)
  return found === undefined || found === '' ? refuseAt(status, 'Sts is empty') : found
}

/** Reads a value; undefined if it does not match the schema. Throws other problems, such as exceeded limits. */
export function readIfValid<T>(
  read: () => T,
  failed: (problem: MessageProblem) => void = () => undefined,
): T | undefined {
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
export function readEntry(
  node: XmlNode,
  details: readonly EntryDetail[],
  broken: MessageProblem | undefined,
): BankEntry {
  let problem = broken
  const entry =
    broken === undefined
      ? readIfValid(
          () => readWholeEntry(node, details),
          (found) => (problem = found),
        )
      : undefined
  return entry ?? readPartialEntry(node, problem)
}

/** Reads the fields with which people identify an unreadable entry. Drops the amount if the direction is unreadable. */
function readPartialEntry(node: XmlNode, problem: MessageProblem | undefined): BankEntry {
  const written = readIfValid(() => onlyChild(node, 'Amt'))
  const direction = readIfValid(() => isCredit(node))
  const exact = written && readIfValid(() => readAmount(written))
  const stated = written && readIfValid(() => readInformativeAmount(written))
  const text = direction === undefined || stated?.minor !== null ? '' : stated.text
  const status = readIfValid(() => readStatus(node)) ?? 'BOOK'
  return compact<BankEntry>({
    problem: problem === undefined ? 'it cannot be read' : `${problem.message} (line ${problem.line}, ${problem.path})`,
    reference: readIfValid(() => childToken(node, 'NtryRef')),
    amount: (direction === undefined ? undefined : exact) ?? { currency: stated?.currency ?? '', minor: null, text },
    isCredit: direction ?? true,
    isReversal: readIfValid(() => childFlag(node, 'RvslInd')) ?? false,
    status,
    bookingDate: readIfValid(() => readDate(onlyChild(node, 'BookgDt'))),
    valueDate: readIfValid(() => readDate(onlyChild(node, 'ValDt'))),
    bankReference: readIfValid(() => childToken(node, 'AcctSvcrRef')),
    codes: readIfValid(() => readTransactionCodes(onlyChild(node, 'BkTxCd'))) ?? {},
    charges: [],
    batches: [],
    details: [],
  })
}

function readWholeEntry(node: XmlNode, details: readonly EntryDetail[]): BankEntry {
  const sum = readAmount(requireChild(node, 'Amt'))
  const direction = isCredit(node)
  if (direction === undefined) refuseAt(node, 'Ntry has no CdtDbtInd')
  const further = childTexts(node, 'AddtlNtryInf')
  const detailsIn = onlyChild(node, 'AddtlInfInd')
  return compact<BankEntry>({
    reference: childToken(node, 'NtryRef'),
    amount: sum,
    isCredit: direction,
    isReversal: childFlag(node, 'RvslInd') ?? false,
    status: readStatus(node),
    bookingDate: readDate(onlyChild(node, 'BookgDt')),
    valueDate: readDate(onlyChild(node, 'ValDt')),
    bankReference: childToken(node, 'AcctSvcrRef'),
    codes: readTransactionCodes(onlyChild(node, 'BkTxCd')),
    ...readCharges(node),
    amounts: readAmountDetails(onlyChild(node, 'AmtDtls')),
    detailsIn:
      detailsIn &&
      compactOrUndefined({ messageName: childToken(detailsIn, 'MsgNmId'), messageId: childToken(detailsIn, 'MsgId') }),
    batches: childrenNamed(node, 'NtryDtls').flatMap((group) => {
      const batch = descendant(group, 'Btch')
      return (batch && readBatch(batch)) ?? []
    }),
    details: details.map((detail) => withAmount(detail, sum)),
    information: further.length === 0 ? undefined : further.join('\n'),
  })
}
