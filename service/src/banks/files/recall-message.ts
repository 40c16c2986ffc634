/** Pure: the recall message for payments of one batch. */
import { type Recall, recallXml } from '../../iso20022/index.ts'
import { present } from '../../kernel/index.ts'
import type { BankRules } from './deps.ts'
import { bankInstructionId, type RecallKind } from './ids.ts'
import { executionDateOf, initiatorOf, type Message, messageOf } from './message.ts'
import type { OutgoingFile } from './store-instructions.ts'
import type { RecalledPayment } from './store-recalls.ts'

type File = Pick<OutgoingFile, 'messageId' | 'madeAt'>

/** CxlId: the bank's answer names the recall by it. */
const cancellationIdOf = (recallId: string): string => recallId.replaceAll('-', '')

export function recallMessage(
  file: File & { readonly kind: RecallKind },
  original: File & Pick<OutgoingFile, 'messageName'>,
  recalls: readonly RecalledPayment[],
  rules: BankRules,
): Message {
  const [first] = recalls
  const { currency, batchId } = present(first, 'a recall has payments')
  const account = present(
    rules.accounts.find((each) => each.currency === currency),
    'a payment has an account',
  )
  const recall: Recall = {
    kind: file.kind,
    messageId: file.messageId,
    createdAt: file.madeAt,
    assigner: initiatorOf(rules),
    assignee: { bic: account.bic },
    caseId: file.messageId,
    originator: { name: account.ownerName },
    originalMessageId: original.messageId,
    originalMessageName: original.messageName,
    originalBatchId: batchId,
    transfers: recalls
      .toSorted((a, b) => (a.recallId < b.recallId ? -1 : 1))
      .map((one) => ({
        cancellationId: cancellationIdOf(one.recallId),
        instructionId: bankInstructionId(one),
        endToEndId: one.endToEndId,
        money: { currency: one.currency, minor: one.amount },
        executionDate: executionDateOf(one, original.madeAt, rules),
        reason: one.reason,
        ...(one.details === null ? {} : { text: one.details }),
      })),
  }
  return messageOf(recallXml, recall, recalls)
}
