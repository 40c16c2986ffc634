/** The request log: requests to the API, and their sums. All are extensions. */
import {
  Timestamp,
  Type,
  Uuid,
  closed,
  described,
  oneOf,
  operationIdPattern,
  optional,
  page,
  pageQuery,
  problemCodePattern,
  requestIdPattern,
  timeInput,
  uuidPattern,
} from './shapes.ts'

const code = described(optional(Type.String()), 'The `code` of the problem. Absent if the request succeeded.')
const operation = described(
  Type.String(),
  'The id of the operation, such as `createFiatPayout`. `unknown`: the path or method is that of no operation.',
)
const status = described(Type.Integer(), 'HTTP status of the answer.')

export const LoggedRequest = closed({
  id: described(Uuid, 'Identifies the entry of the log.'),
  at: described(Timestamp, 'Time of the answer.'),
  requestId: described(Type.String(), 'The `X-Request-Id` of the request.'),
  method: described(Type.String(), 'HTTP method.'),
  operation,
  params: described(
    Type.Record(Type.String(), Type.String()),
    'Path parameters. A value that is not of letters, digits and `._:~-` is shown as `…`.',
  ),
  status,
  code,
  pointer: described(optional(Type.String()), 'The first field that was refused, as a JSON pointer.'),
  durationMs: described(Type.Integer({ minimum: 0 }), 'Time from the headers of the request to the end of the answer.'),
  serviceAccountId: described(Uuid, 'The service account.'),
  serviceAccountName: described(Type.String(), 'Name of the service account at the time of the request.'),
  impersonatedBy: described(optional(Type.String()), 'The staff member of an impersonation session.'),
  verified: described(
    Type.Boolean(),
    'False: the signature was refused. Only the API key is known, so that the sender may be a stranger.',
  ),
  replayed: described(Type.Boolean(), 'True: the answer repeats that of an earlier request with the idempotency key.'),
  ip: described(Type.String(), 'IP address of the client.'),
  userAgent: described(optional(Type.String()), 'The first 120 characters of `User-Agent`.'),
})
export const LoggedRequestPage = page(LoggedRequest)

const days = {
  createdFrom: optional(timeInput('Only requests of this day (UTC) or later. Default: 30 days before the end')),
  createdTo: optional(
    timeInput('Only requests of days (UTC) before this time. Default: 31 days after the begin, at most today'),
  ),
}
export const RequestQuery = closed({
  ...pageQuery,
  operation: optional(Type.String({ pattern: operationIdPattern, description: 'Only requests of this operation.' })),
  statusClass: described(optional(oneOf(['2xx', '4xx', '5xx'])), 'Only requests whose status is of this class.'),
  code: optional(Type.String({ pattern: problemCodePattern, description: 'Only requests with this problem.' })),
  serviceAccountId: optional(
    Type.String({ pattern: uuidPattern, description: 'Only requests of this service account.' }),
  ),
  requestId: optional(
    Type.String({ pattern: requestIdPattern, description: 'Only requests with this `X-Request-Id`.' }),
  ),
  createdFrom: optional(timeInput('Only requests answered at or after this time')),
  createdTo: optional(timeInput('Only requests answered before this time')),
})
export const RequestSumsQuery = closed(days)

const count = described(Type.Integer({ minimum: 0 }), 'Number of requests.')

export const RequestProblems = closed({
  data: described(
    Type.Array(
      closed({
        code: described(Type.String(), 'The `code` of the problem.'),
        status,
        title: described(Type.String(), 'Title of the problem.'),
        cure: described(Type.String(), 'Cause of the problem, and its cure.'),
        type: described(Type.String(), 'Path of the page about the problem.'),
        count,
        operations: described(Type.Array(Type.String()), 'The operations with the problem, in alphabetical order.'),
        lastDay: described(Type.String(), 'The last day (UTC) with the problem.'),
      }),
    ),
    'One item for each problem, the most frequent first.',
  ),
})

export const RequestSums = closed({
  data: described(
    Type.Array(
      closed({
        day: described(Type.String(), 'The day (UTC).'),
        operation,
        count,
        errors4xx: described(Type.Integer({ minimum: 0 }), 'Number of requests that were refused.'),
        errors5xx: described(Type.Integer({ minimum: 0 }), 'Number of requests that failed in the service.'),
        durationMsMean: described(Type.Integer({ minimum: 0 }), 'Mean duration in milliseconds.'),
        durationMsMax: described(Type.Integer({ minimum: 0 }), 'Longest duration in milliseconds.'),
      }),
    ),
    'One item for each day and operation, the newest day first.',
  ),
})
