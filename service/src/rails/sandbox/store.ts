/** All SQL of the sandbox bank. */
import type { ErrorKey } from '@partner-payments/wire'
import { ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { Instruction } from '../port.ts'

export type InstructionRow = {
  readonly accepted: boolean
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly timesReceived: number
}

/** Answers undefined where the instruction was known: the bank counts it and does nothing more. */
export async function receiveInstruction(
  tx: Tx,
  instruction: Instruction,
  answer: { readonly accepted: boolean; readonly errorKey: ErrorKey | null; readonly errorDetails: string | null },
  now: Date,
): Promise<boolean> {
  const inserted = await tx.run(sql`
    insert into rails.sandbox_instructions (partner_id, id, end_to_end_id, amount, currency, creditor_name,
      creditor_account, times_received, accepted, error_key, error_details, received_at)
    values (${instruction.partnerId}, ${instruction.id}, ${instruction.endToEndId}, ${instruction.amount},
      ${instruction.currency}, ${instruction.creditorName}, ${instruction.creditorAccount}, 1,
      ${answer.accepted}, ${answer.errorKey}, ${answer.errorDetails}, ${now})
    on conflict (partner_id, id) do nothing`)
  if (inserted === 1) return true
  await tx.run(sql`
    update rails.sandbox_instructions set times_received = times_received + 1
    where partner_id = ${instruction.partnerId} and id = ${instruction.id}`)
  return false
}

export function instructionById(tx: Tx, partnerId: string, id: string): Promise<InstructionRow | undefined> {
  return tx.row<InstructionRow>(sql`
    select accepted, error_key, error_details, times_received from rails.sandbox_instructions
    where partner_id = ${partnerId} and id = ${id}`)
}

export async function insertNotice(
  tx: Tx,
  notice: {
    readonly partnerId: string
    readonly id: string
    readonly subjectId: string
    readonly kind: string
    readonly payload: string
    readonly dueAt: Date
  },
): Promise<void> {
  await tx.run(sql`
    insert into rails.sandbox_notices (partner_id, id, subject_id, kind, payload, due_at)
    values (${notice.partnerId}, ${notice.id}, ${notice.subjectId}, ${notice.kind}, ${notice.payload}, ${notice.dueAt})`)
}

export type NoticeRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: string
  readonly payload: string
}

/** The bank tells everybody's notices in the order of their time: a due-work scan (it names no partner by design). */
export function dueNotices(tx: Tx, now: Date, noticesMax: number): Promise<readonly NoticeRow[]> {
  return tx.rows<NoticeRow>(sql`
    select partner_id, id, subject_id, kind, payload from rails.sandbox_notices
    where due_at <= ${now} order by due_at, id limit ${noticesMax}`)
}

/** Those of many partners at once, as the bank tells them. What is acknowledged is gone: nobody asks for it again. */
export async function deleteNotices(
  tx: Tx,
  notices: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<void> {
  await tx.run(sql`
    delete from rails.sandbox_notices
    where ${ofPartners(notices.map((notice) => notice.partnerId))}
      and id = any(${notices.map((notice) => notice.id)}::uuid[])`)
}
