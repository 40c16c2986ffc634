/** The proof of a transaction as a file. */
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { consoleHeaders } from '../kit/request.ts'
import { callOf, type Frame, type Person } from './request.ts'

/** Sends the proof of a transaction as a file for `npm run verify:proof`. */
export async function sendProof(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  reference: string,
): Promise<PublicAnswer> {
  const proof = await operate('getTransactionProof', { ...callOf(person, request), params: { reference } })
  const headers = {
    ...consoleHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="proof.json"',
  }
  return { status: 200, headers, body: JSON.stringify(proof) }
}
