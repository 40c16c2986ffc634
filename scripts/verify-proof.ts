/**
 * `npm run verify:proof -- FILE [--key PUBLIC_KEY]` verifies the audit proof of a transaction without a connection. FILE is the
 * answer of `GET /v1/transactions/{reference}/proof`. PUBLIC_KEY is the key that you have kept from `GET /v1/audit/heads`.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type AuditProof, faultsOfProof } from '@partner-payments/wire'

const { values, positionals } = parseArgs({ options: { key: { type: 'string' } }, allowPositionals: true })
const [file] = positionals
if (file === undefined) {
  console.error('usage: npm run verify:proof -- FILE [--key PUBLIC_KEY]')
  process.exit(2)
}
const proof = JSON.parse(readFileSync(file, 'utf8')) as AuditProof
const faults = faultsOfProof(proof, values.key)
for (const fault of faults) console.error(fault)
if (faults.length === 0) {
  const { reference, records, heads, pending } = proof
  console.log(`${reference}: ${records.length} records are under signed heads, ${pending} are pending`)
  for (const key of new Set(heads.map(({ publicKey }) => publicKey)))
    console.log(`signed by ${key}${values.key === undefined ? ': compare it with the key that you have kept' : ''}`)
}
process.exitCode = faults.length === 0 ? 0 : 1
