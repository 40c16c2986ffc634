/** The audit log: records, signed heads and proofs. All are extensions. */
import {
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  text,
  timeInput,
} from './shapes.ts'

export const recordKinds = ['Act', 'Read', 'Request'] as const
export type RecordKind = (typeof recordKinds)[number]

export const AuditRecord = closed({
  id: described(Uuid, 'Identifies the record.'),
  at: described(Timestamp, 'Time of the record.'),
  actor: described(
    closed({
      kind: described(
        Type.String(),
        '`partner`: a service account. `worker`, `bank` and `time` cause steps of payments. `operator`: a person who works ' +
          'for the operator of the service.',
      ),
      id: described(optional(Type.String()), 'The service account. Absent for all others.'),
      name: described(optional(Type.String()), 'Name of the actor.'),
      impersonatedBy: described(optional(Type.String()), 'The staff member of an impersonation session.'),
      ip: described(optional(Type.String()), 'IP address of the request.'),
    }),
    'Actor of the record.',
  ),
  action: described(
    Type.String(),
    'Recorded action: `transaction.steps`, or the id of the operation that was requested, such as `getCustomer`.',
  ),
  subject: described(
    Type.Record(Type.String(), Type.String()),
    'Subject of the action: the `reference` of a transaction, the path parameters of the operation, or the `id` of the created resource.',
  ),
  details: described(
    optional(Type.Record(Type.String(), Type.Unknown())),
    'Further recorded details, such as the steps. `made`: true in the record of a created resource.',
  ),
  reason: described(optional(Type.String()), "Reason: the bank's code of ISO 20022. Absent if none was given."),
  requestId: described(optional(Type.String()), 'The `X-Request-Id` of the request. Absent if no request caused it.'),
})
export const AuditPage = page(AuditRecord)
export const AuditQuery = closed({
  ...pageQuery,
  createdFrom: optional(timeInput('Only records made at or after this time')),
  createdTo: optional(timeInput('Only records made before this time')),
  kind: described(
    optional(oneOf(recordKinds)),
    '`Act`: only actions of people, programs and the operator. `Read`: only reads of sensitive data. `Request`: only requests to ' +
      'create something; the creation itself is an `Act`. Steps of a payment are an `Act` if a person of your team made them.',
  ),
  actorId: described(optional(Uuid), 'Only what this member of your team, or this service account, did or read.'),
  action: described(optional(text(100)), 'Only records of this action.', { examples: ['createBeneficiary'] }),
  subject: described(
    optional(text(140)),
    'Only acts on the resource with this id, as in `subject`. With `kind=Read`: only reads of this customer.',
  ),
})

const Head = closed({
  content: described(
    Type.String(),
    'The signed text, a JSON object: `version`, `partnerId`, `from`, `to`, `firstSequence`, `lastSequence`, `root`, `chain`, ' +
      '`previous`.',
  ),
  signature: described(Type.String(), 'Ed25519 signature of `content`, Base64.'),
  publicKey: described(
    Type.String(),
    'The key that verifies `signature`, SPKI in DER, Base64. Keep it with your heads.',
  ),
})
export const AuditHeadPage = page(Head)
export const AuditHeadQuery = closed({ ...pageQuery })

export const TransactionProof = closed({
  partnerId: described(Uuid, 'Your partner id.'),
  reference: described(Type.String(), 'The `reference` of the transaction.'),
  records: described(
    Type.Array(
      closed({
        content: described(Type.String(), 'The record as it is hashed, a JSON object.'),
        sequence: described(Type.Integer({ minimum: 1 }), 'Place of the record in your audit log.'),
        path: described(
          Type.Array(Type.String()),
          'The hashes from the record to the root of the day (RFC 9162), hex.',
        ),
        head: described(Type.Integer({ minimum: 0 }), 'Place of its head in `heads`.'),
      }),
    ),
    'The records of the transaction that are under a signed head, the oldest first.',
  ),
  heads: described(Type.Array(Head), 'The signed heads of the days of the records.'),
  statement: described(
    nullable(
      closed({
        content: described(
          Type.String(),
          'The signed text, a JSON object: `version`, `partnerId`, `reference`, `at`, `records`, `pending`. ' +
            'The last two are ids: records that are in the proof, and records without a signed head.',
        ),
        signature: Head.properties.signature,
        publicKey: Head.properties.publicKey,
      }),
    ),
    'Signed list of the records, so that none can be omitted. Null until your first head is signed.',
  ),
  pending: described(Type.Integer({ minimum: 0 }), 'Records of the transaction whose day has no signed head yet.'),
})
