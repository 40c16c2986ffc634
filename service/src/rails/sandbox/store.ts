/** All SQL of the sandbox bank. */
import type { ErrorKey } from '@partner-payments/wire'
import { acrossPartners, dueWork, ofPartners, sql, type Tx } from '../../postgres/index.ts'
import type { Instruction } from '../port.ts'

export type InstructionRow = {
  readonly accepted: boolean
  readonly errorKey: ErrorKey | null
  readonly errorDetails: string | null
  readonly timesReceived: number
}

/** True if the instruction is new. The bank only counts an instruction that it already has. */
export async function receiveInstruction(
  tx: Tx,
  instruction: Instruction,
  answer: { readonly accepted: boolean; readonly errorKey: ErrorKey | null; readonly errorDetails: string | null },
  now: Date,
): Promise<boolean> {
  const inserted = await tx.run(sql`/* rails.receiveInstruction */
    insert into rails.sandbox_instructions (partner_id, id, end_to_end_id, amount, currency, creditor_name,
      creditor_account, times_received, accepted, error_key, error_details, received_at)
    values (${instruction.partnerId}, ${instruction.id}, ${instruction.endToEndId}, ${instruction.amount},
      ${instruction.currency}, ${instruction.creditorName}, ${instruction.creditorAccount}, 1,
      ${answer.accepted}, ${answer.errorKey}, ${answer.errorDetails}, ${now})
    on conflict (partner_id, id) do nothing`)
  if (inserted === 1) return true
  await tx.run(sql`/* rails.receiveInstruction */
    update rails.sandbox_instructions set times_received = times_received + 1
    where partner_id = ${instruction.partnerId} and id = ${instruction.id}`)
  return false
}

export function instructionById(tx: Tx, partnerId: string, id: string): Promise<InstructionRow | undefined> {
  return tx.row<InstructionRow>(sql`/* rails.instructionById */
    select accepted, error_key, error_details, times_received from rails.sandbox_instructions
    where partner_id = ${partnerId} and id = ${id}`)
}

export async function insertNotification(
  tx: Tx,
  notification: {
    readonly partnerId: string
    readonly id: string
    readonly subjectId: string
    readonly kind: string
    readonly payload: string
    readonly dueAt: Date
  },
): Promise<void> {
  await tx.run(sql`/* rails.insertNotification */
    insert into rails.sandbox_notifications (partner_id, id, subject_id, kind, payload, due_at)
    values (${notification.partnerId}, ${notification.id}, ${notification.subjectId}, ${notification.kind},
      ${notification.payload}, ${notification.dueAt})`)
}

export type NotificationRow = {
  readonly partnerId: string
  readonly id: string
  readonly subjectId: string
  readonly kind: string
  readonly payload: string
}

/** When the oldest unacknowledged notification became due. */
export async function oldestDue(tx: Tx, now: Date): Promise<Date | null> {
  const row = await tx.row<{ dueAt: Date }>(
    acrossPartners(
      'reads the age of the oldest bank notification, for a metric',
      sql`/* rails.oldestDue */ select due_at from rails.sandbox_notifications where due_at <= ${now} order by due_at limit 1`,
    ),
  )
  return row?.dueAt ?? null
}

/** Notifications of all partners that are due, oldest first: a due-work scan, which names no partner by design. */
export function dueNotifications(tx: Tx, now: Date, notificationsMax: number): Promise<readonly NotificationRow[]> {
  return tx.rows<NotificationRow>(
    dueWork(
      'reads due bank notifications in order of time',
      (whose) => sql`/* rails.dueNotifications */
      select partner_id, id, subject_id, kind, payload from rails.sandbox_notifications
      where due_at <= ${now} and ${whose()} order by due_at, id limit ${notificationsMax}`,
    ),
  )
}

/** Deletes acknowledged notifications of many partners at once. The bank never needs them again. */
export async function deleteNotifications(
  tx: Tx,
  notifications: readonly { readonly partnerId: string; readonly id: string }[],
): Promise<void> {
  await tx.run(sql`/* rails.deleteNotifications */
    delete from rails.sandbox_notifications
    where ${ofPartners(notifications.map((notification) => notification.partnerId))}
      and id = any(${notifications.map((notification) => notification.id)}::uuid[])`)
}
