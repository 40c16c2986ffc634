/**
 * `npm run verify:proof -- FILE [--key PUBLIC_KEY] [--payee NAME --account IBAN --salt SALT]` verifies the audit proof of a transaction, and
 * the signatures of the people who approved it, without a connection. FILE is the answer of `GET /v1/transactions/{reference}/proof`.
 * PUBLIC_KEY is the key that you have kept from `GET /v1/audit/heads`. The payee, its account and the salt are in the payout
 * (`GET /v1/payouts/{id}`: `beneficiaryName`, `beneficiaryAccount`, `approval.payeeSalt`).
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  approvalsOf,
  readApprovedPayout,
  type AuditProof,
  findProofFaults,
  payeeDigest,
  type SignedApproval,
} from '@partner-payments/wire'

const text = { type: 'string' } as const
const options = { key: text, payee: text, account: text, salt: text }
// One salt in 64 begins with a dash, which `parseArgs` only reads as a value behind an equals sign.
const args: string[] = []
const usage = 'usage: npm run verify:proof -- FILE [--key PUBLIC_KEY] [--payee NAME --account IBAN --salt SALT]'
for (let given = process.argv.slice(2); given.length > 0;) {
  const [word = '', value, ...others] = given
  const isOption = value !== undefined && Object.keys(options).some((name) => word === `--${name}`)
  args.push(isOption ? `${word}=${value}` : word)
  given = isOption ? others : given.slice(1)
}
const { file, values } = readArguments()
const proof = JSON.parse(readFileSync(file, 'utf8')) as AuditProof
const { payee = '', account = '', salt } = values
const digest = salt === undefined ? undefined : payeeDigest(salt, payee, account)
const approvals = approvalsOf(proof).map(({ name, approval }) => ({
  name,
  approval,
  signed: readApprovedPayout(approval),
}))
const faults = [...findProofFaults(proof, values.key)]
for (const { signed } of approvals)
  if (digest !== undefined && digest !== signed.payee) faults.push('The approval is for another payee or account.')
for (const fault of faults) console.error(fault)
if (faults.length === 0) {
  const { reference, records, heads, pending } = proof
  console.log(`${reference}: ${records.length} records are under signed heads, ${pending} are pending`)
  for (const key of new Set(heads.map(({ publicKey }) => publicKey)))
    console.log(`signed by ${key}${values.key === undefined ? ': compare it with the key that you have kept' : ''}`)
  for (const { name, approval, signed } of approvals) console.log(lineOf(name ?? signed.approverId, approval, signed))
}
process.exitCode = faults.length === 0 ? 0 : 1

/** Reads the arguments. Refuses a second file, a repeated option and a payee without its account, which would otherwise be ignored. */
function readArguments() {
  try {
    const { values: given, positionals, tokens } = parseArgs({ args, options, allowPositionals: true, tokens: true })
    const [first, ...more] = positionals
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    if (first === undefined) throw new Error('FILE is missing')
    if (more.length > 0) throw new Error(`give one FILE: "${more.join(' ')}" would not be verified`)
    if (new Set(names).size < names.length) throw new Error('give each option once')
    const ofPayee = [given.payee, given.account, given.salt].filter((each) => each !== undefined && each !== '')
    if (ofPayee.length % 3 !== 0) throw new Error('--payee, --account and --salt go together')
    return { file: first, values: given }
  } catch (error) {
    console.error(`${(error as Error).message}\n${usage}`)
    process.exit(2)
  }
}

function lineOf(
  name: string,
  { passkey, inBulk }: SignedApproval,
  { amount, currency }: ReturnType<typeof readApprovedPayout>,
): string {
  const to = digest === undefined ? 'a payee whose digest is in the approval' : `${payee}, ${account}`
  const by = passkey === undefined ? 'a one-time code, without a signature' : `a passkey of ${passkey.origin}`
  const within = inBulk === undefined ? '' : ' with the other payouts of its bulk'
  return `approved by ${name}: ${amount} ${currency} to ${to}${within}; by ${by}`
}
