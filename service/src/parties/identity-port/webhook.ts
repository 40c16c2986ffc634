/** Signatures of webhooks by Standard Webhooks, for providers that sign so. */
import { timingSafeEqual } from 'node:crypto'
import { deliverySignature } from '@partner-payments/wire'
import { minuteMs, secondMs } from '../../kernel/index.ts'
import type { IdentityWebhook } from './port.ts'

/** Standard Webhooks, Verifying: older and newer ones are refused, so that a recorded one cannot be replayed for ever. */
const toleranceMs = 5 * minuteMs

/** Reports whether one of the signatures is that of the key over id, time and raw body, and the time is near. */
export function holdsStandardSignature(key: Uint8Array, { headers, body, now }: IdentityWebhook): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  if (id === undefined || signatures === undefined || timestamp === undefined || !/^\d{1,12}$/.test(timestamp))
    return false
  const seconds = Number(timestamp)
  if (Math.abs(now.getTime() - seconds * secondMs) > toleranceMs) return false
  const expected = Buffer.from(deliverySignature({ kind: 'v1', key }, id, seconds, body))
  return signatures.split(' ').some((each) => {
    const given = Buffer.from(each)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
