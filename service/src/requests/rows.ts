/** Pure: what the log keeps of a request, and the sums of some rows. */
import { dayMs, momentOfId } from '../kernel/index.ts'
import type { RequestRow, SumRow } from './store.ts'

/** An answered request, as the gateway knows it. */
export type AnsweredRequest = {
  readonly requestId: string
  readonly method: string
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly status: number
  readonly code?: string | undefined
  readonly pointer?: string | undefined
  readonly durationMs: number
  readonly replayed: boolean
  readonly ip: string
  readonly userAgent: string | undefined
}

/** The caller, or the owner of the key whose signature was refused. */
export type Sender = {
  readonly partnerId: string
  readonly serviceAccountId: string
  readonly name: string
  readonly impersonatedBy?: string
  readonly verified: boolean
}

/** Ids and references. An email address or free text may name a person. */
const safeParameter = /^[\w.:~-]{1,140}$/
const hidden = '…'
const userAgentCharsMax = 120
const pointerCharsMax = 200
const durationMsMax = 2 ** 31 - 1

const printable = (text: string, charsMax: number): string => text.replaceAll(/[^ -~]/g, '?').slice(0, charsMax)

export function rowOf(id: string, request: AnsweredRequest, sender: Sender): RequestRow {
  const { code, pointer, userAgent, durationMs, params, ...rest } = request
  const shown = Object.entries(params).map(([name, value]) => [name, safeParameter.test(value) ? value : hidden])
  return {
    ...rest,
    id,
    partnerId: sender.partnerId,
    params: JSON.stringify(Object.fromEntries(shown)),
    code: code ?? null,
    pointer: pointer === undefined ? null : printable(pointer, pointerCharsMax),
    durationMs: Math.min(durationMsMax, Math.max(0, Math.round(durationMs))),
    serviceAccountId: sender.serviceAccountId,
    serviceAccountName: sender.name,
    impersonatedBy: sender.impersonatedBy ?? null,
    verified: sender.verified,
    userAgent: userAgent === undefined ? null : printable(userAgent, userAgentCharsMax),
  }
}

export const dayOf = (moment: Date): string => moment.toISOString().slice(0, 10)

export function sumsOf(rows: readonly RequestRow[]): readonly SumRow[] {
  const sums = new Map<
    string,
    { readonly first: RequestRow; count: number; durationMsSum: number; durationMsMax: number }
  >()
  for (const row of rows) {
    const { partnerId, id, operation, status, code, durationMs } = row
    const day = Math.floor(momentOfId(id).getTime() / dayMs)
    const name = `${partnerId} ${day} ${operation} ${status} ${code}`
    const known = sums.get(name)
    if (known === undefined) {
      sums.set(name, { first: row, count: 1, durationMsSum: durationMs, durationMsMax: durationMs })
      continue
    }
    known.count += 1
    known.durationMsSum += durationMs
    known.durationMsMax = Math.max(known.durationMsMax, durationMs)
  }
  return [...sums.values()].map(({ first: { partnerId, id, operation, status, code }, ...sum }) => ({
    ...{ partnerId, operation, status },
    day: dayOf(momentOfId(id)),
    code: code ?? '',
    count: BigInt(sum.count),
    durationMsSum: BigInt(sum.durationMsSum),
    durationMsMax: sum.durationMsMax,
  }))
}
