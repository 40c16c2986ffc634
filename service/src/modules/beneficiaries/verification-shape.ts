/** The wire shape of a verification, which beneficiaries and payouts answer. */
import { beneficiaries as wire } from '@partner-payments/wire'
import { writerOf } from '../../api/index.ts'
import type { VerificationRow } from './verifications.ts'

const write = writerOf(wire.Verification)
export const toVerification = (row: VerificationRow) => write({ ...row, requestedBy: row.requestedByName })
