/** pain.001.001.09 and .03, Customer Credit Transfer Initiation: numbers and control sums must fit. */
import { amountText, type Minor } from '../../kernel/index.ts'
import type { Amount, CreditTransfer, CreditTransferInitiation, Money, PaymentBatch } from '../model.ts'
import type { Limits, Source } from '../source.ts'
import { type Node, refuseAt } from '../xml/tree.ts'
import {
  all,
  amountOf,
  codeOf,
  dateOf,
  decimalText,
  flag,
  given,
  needed,
  neededToken,
  number,
  one,
  time,
  timeOf,
  token,
} from './nodes.ts'
import { accountOf, agentOf, partyOf, remittanceOf } from './values.ts'
import { readWhole } from './whole.ts'

export function moneyOf(node: Node): Money {
  const amount: Amount = amountOf(node)
  return amount.minor === null ? refuseAt(node, `${amount.currency} is not carried`) : amount
}

/** A code of the guideline, which excludes the bank's own codes. */
function listedCode(node: Node | undefined, name: string): string | undefined {
  const found = one(node, name)
  const code = codeOf(found)
  if (found && code && 'proprietary' in code) refuseAt(found, `${name} is a code of the bank's own`)
  return code && 'code' in code ? code.code : undefined
}

const known = new Set('PmtId Amt UltmtDbtr CdtrAgt Cdtr CdtrAcct UltmtCdtr Purp RmtInf'.split(' '))

/** Elements that the model does not have, also those of PmtTpInf. */
function othersOf(node: Node): readonly string[] | undefined {
  const names = node.children.flatMap(({ name, children }) =>
    name === 'PmtTpInf' ? children.map((child) => child.name) : known.has(name) ? [] : [name],
  )
  return names.length === 0 ? undefined : names
}

function transferOf(node: Node): CreditTransfer {
  const id = needed(node, 'PmtId')
  const account = needed(node, 'CdtrAcct')
  return given<CreditTransfer>({
    instructionId: token(id, 'InstrId'),
    endToEndId: neededToken(id, 'EndToEndId'),
    uetr: token(id, 'UETR'),
    money: moneyOf(needed(needed(node, 'Amt'), 'InstdAmt')),
    ultimateDebtor: partyOf(one(node, 'UltmtDbtr')),
    creditorAgent: agentOf(one(node, 'CdtrAgt')),
    creditor: partyOf(needed(node, 'Cdtr')) ?? {},
    creditorAccount: accountOf(account) ?? refuseAt(account, 'CdtrAcct has no Id'),
    creditorAccountType: listedCode(account, 'Tp'),
    ultimateCreditor: partyOf(one(node, 'UltmtCdtr')),
    purpose: listedCode(node, 'Purp'),
    remittance: remittanceOf(one(node, 'RmtInf')),
    others: othersOf(node),
  })
}

/** ReqdExctnDt is a date in version 03, and a choice in 09. */
function executionDateOf(node: Node): string {
  const requested = needed(node, 'ReqdExctnDt')
  const found = requested.children.length > 0 ? dateOf(requested) : timeOf(requested)
  return found ?? refuseAt(requested, 'ReqdExctnDt is empty')
}

function batchOf(node: Node, transfers: readonly CreditTransfer[]): PaymentBatch {
  const type = one(node, 'PmtTpInf')
  const account = needed(node, 'DbtrAcct')
  if (neededToken(node, 'PmtMtd') !== 'TRF') refuseAt(node, 'PmtMtd is not TRF')
  if (transfers.length === 0) refuseAt(node, 'PmtInf has no CdtTrfTxInf')
  checkSums(node, transfers)
  return given<PaymentBatch>({
    id: neededToken(node, 'PmtInfId'),
    batchBooking: flag(node, 'BtchBookg'),
    serviceLevel: listedCode(type, 'SvcLvl'),
    localInstrument: listedCode(type, 'LclInstrm'),
    categoryPurpose: listedCode(type, 'CtgyPurp'),
    executionDate: executionDateOf(node),
    debtor: partyOf(needed(node, 'Dbtr')) ?? {},
    debtorAccount: accountOf(account) ?? refuseAt(account, 'DbtrAcct has no Id'),
    debtorCurrency: token(account, 'Ccy'),
    debtorAgent: agentOf(needed(node, 'DbtrAgt')) ?? {},
    debtorAgentInstruction: token(node, 'InstrForDbtrAgt'),
    ultimateDebtor: partyOf(one(node, 'UltmtDbtr')),
    chargeBearer: token(node, 'ChrgBr'),
    transfers,
  })
}

/** Normalises decimals, so that `12.5` equals `12.50`. */
const plain = (decimal: string): string =>
  decimal
    .replace(/^\+?0*(?=\d)/, '')
    .replace(/\.0*$|(?<=\.\d*[1-9])0+$/, '')
    .replace(/^\+?(?=\.)/, '0')

/** Checks NbOfTxs and CtrlSum, if they are given. */
function checkSums(node: Node, transfers: readonly CreditTransfer[]): void {
  const [count, sum] = [number(node, 'NbOfTxs'), decimalText(node, 'CtrlSum')]
  if (count !== undefined && count !== transfers.length)
    refuseAt(node, `NbOfTxs is ${count}, and there are ${transfers.length}`)
  const total = amountText(
    transfers.reduce<Minor>((before, { money }) => before + money.minor, 0n),
    'EUR',
  )
  if (sum !== undefined && plain(sum) !== plain(total)) refuseAt(node, `CtrlSum is ${sum}, and the sum is ${total}`)
}

export function readPain001(source: Source, limits?: Partial<Limits>): Promise<CreditTransferInitiation> {
  return readWhole<CreditTransfer, CreditTransferInitiation>(
    source,
    {
      kinds: ['pain.001'],
      item: (node) => (node.name === 'CdtTrfTxInf' ? transferOf(node) : undefined),
      value: (message, itemsOf) => {
        const head = needed(message, 'GrpHdr')
        const batches = all(message, 'PmtInf').map((node) => batchOf(node, itemsOf(node)))
        if (batches.length === 0) refuseAt(message, 'the message has no PmtInf')
        checkSums(
          head,
          batches.flatMap(({ transfers }) => transfers),
        )
        return {
          messageId: neededToken(head, 'MsgId'),
          createdAt: new Date(time(head, 'CreDtTm') ?? refuseAt(head, 'GrpHdr has no CreDtTm')),
          initiator: partyOf(needed(head, 'InitgPty')) ?? {},
          batches,
        }
      },
    },
    limits,
  )
}
