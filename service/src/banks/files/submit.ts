/** Accepts instructions: stores each with its scheme, or with the reason of its refusal. */
import { after, hourMs, partnerKey, secondMs } from '../../kernel/index.ts'
import {
  type Acknowledgement,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  nextWindow,
  earliestSubmission,
} from '../../rails/index.ts'
import { groupByShard } from '../../postgres/index.ts'
import type { BankDeps, BankRules } from './deps.ts'
import { sealPayers } from './payer.ts'
import { chooseScheme, isRefused } from './schemes.ts'
import * as store from './store-instructions.ts'

type Answers = ReadonlyMap<string, Acknowledgement>
type SubmitDeps = Pick<BankDeps, 'db' | 'clock' | 'rules' | 'payers'>

const keyOf = ({ partnerId, id }: InstructionKey): string => partnerKey(partnerId, id)

/** The usual time until a file is at the bank. Most banks that execute payments at once have reported by then. */
const deliveryMs = 10 * secondMs
/** The pause between enquiries about a payment that is not at the bank yet. It grows with the age of the payment. */
const enquiryPauseMs = { min: 5 * secondMs, max: hourMs } as const

function toAcknowledgement({ clock, rules }: SubmitDeps, row: store.StoredAnswer): Acknowledgement {
  const { status, errorKey, errorDetails, reasonCode } = row
  if (status === 'Refused')
    return { accepted: false, errorKey: errorKey ?? 'Failed', details: errorDetails ?? '', reasonCode }
  const isKept = status === 'Queued' || (status === 'Filed' && !row.isDelivered)
  return isKept ? { accepted: true, notBefore: nextEnquiryAt(row, rules, clock.now()) } : { accepted: true }
}

function nextEnquiryAt({ schemeApplied, dueAt, createdAt }: store.StoredAnswer, rules: BankRules, now: Date): Date {
  const windowMs = schemeApplied === 'Instant' ? rules.instantWindowMs : rules.fileWindowMs
  const expected = after(dueAt, windowMs + deliveryMs)
  if (expected > now) return expected
  const ageMs = now.getTime() - createdAt.getTime()
  return after(now, Math.min(Math.max(ageMs, enquiryPauseMs.min), enquiryPauseMs.max))
}

const answersByKey = (deps: SubmitDeps, rows: readonly store.StoredAnswer[]): Answers =>
  new Map(rows.map((row) => [keyOf(row), toAcknowledgement(deps, row)]))

/** Reads the earlier answers to instructions. */
export async function storedAnswers(deps: SubmitDeps, keys: readonly InstructionKey[]): Promise<Answers> {
  const { db, rules } = deps
  const found = await Promise.all(groupByShard(db, keys).map((group) => store.listAnswers(db, rules.id, group)))
  return answersByKey(deps, found.flat())
}

/** Accepts instructions. Repeats the first answer to an instruction with a known id. */
export function createSubmit(deps: SubmitDeps) {
  const { db } = deps
  return async (instructions: readonly Instruction[]): Promise<readonly InstructionOutcome[]> => {
    // Sorted, so that two calls with the same instructions cannot deadlock.
    const unique = [...new Map(instructions.map((instruction) => [keyOf(instruction), instruction])).entries()]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, instruction]) => instruction)
    const payers = await sealPayers(deps, unique)
    const groups = groupByShard(db, unique).map((group) => newInstructions(deps, group, payers))
    const inserted = await Promise.all(
      groups.map((rows) => db.transaction((tx) => store.insertInstructions(tx, rows), { byIndex: true })),
    )
    const fresh = answersByKey(deps, inserted.flat())
    const earlier = unique.filter((instruction) => !fresh.has(keyOf(instruction)))
    const answers = new Map([...fresh, ...(earlier.length === 0 ? [] : await storedAnswers(deps, earlier))])
    return instructions.map((instruction) => answers.get(keyOf(instruction)) ?? 'unknown')
  }
}

function newInstructions(
  { clock, rules }: SubmitDeps,
  instructions: readonly Instruction[],
  payers: ReadonlyMap<string, Buffer>,
): readonly store.NewInstruction[] {
  const now = clock.now()
  return instructions.map((instruction) => {
    const { partnerId, id, endToEndId, currency, amount, remittance } = instruction
    const { creditorName, creditorAccount, creditorBic, creditorAccountType = null, creditorAddress } = instruction
    const choice = chooseScheme(instruction, rules, nextWindow(now, rules, currency).date)
    const common = {
      partnerId,
      id,
      endToEndId,
      currency,
      amount,
      creditorName,
      creditorAccount,
      creditorBic,
      creditorAccountType,
      creditorAddressJson: creditorAddress ? JSON.stringify(creditorAddress) : null,
      remittance,
      payerSealed: payers.get(id) ?? null,
    }
    const row = { ...common, connector: rules.id, attempt: 1, createdAt: now, updatedAt: now }
    if (isRefused(choice))
      return {
        ...row,
        schemeRequested: rules.preferred,
        schemeApplied: rules.preferred,
        schemeReason: null,
        status: 'Refused',
        dueAt: now,
        errorKey: choice.errorKey,
        errorDetails: choice.details,
        reasonCode: choice.reasonCode,
      }
    return {
      ...row,
      schemeRequested: choice.requested,
      schemeApplied: choice.applied,
      schemeReason: choice.reason,
      status: 'Queued',
      dueAt: choice.applied === 'Instant' ? now : earliestSubmission(now, rules, currency),
      errorKey: null,
      errorDetails: null,
      reasonCode: null,
    }
  })
}
