/**
 * Request log: the operations with which a partner reads its requests, their problems and their sums.
 *
 * Tables: none. The verbs and the tables are in the folder `requests` of the core.
 */
import { ownJson, requests as wire } from '@partner-payments/wire'
import { type Handlers, writePage, createRecordWriter } from '../../kernel/api/index.ts'
import type { LoggedRequest, Requests } from '../index.ts'

export function requestLogRoutes(requests: Requests) {
  return {
    listRequests: async ({ caller, query }) => writePage(await requests.list(caller.partnerId, query), toWireRequest),
    getRequest: async ({ caller, params }) => ({
      body: toWireRequest(await requests.get(caller.partnerId, params.entryId)),
    }),
    listRequestProblems: async ({ caller, query }) => {
      const problems = await requests.problems(caller.partnerId, query)
      const data = problems.map((problem) => ({
        ...problem,
        count: Number(problem.count),
        operations: [...problem.operations],
      }))
      return { body: { data } }
    },
    listRequestSums: async ({ caller, query }) => {
      const sums = await requests.sums(caller.partnerId, query)
      const data = sums.map(({ count, errors4xx, errors5xx, durationMsSum, ...sum }) => ({
        ...sum,
        count: Number(count),
        errors4xx: Number(errors4xx),
        errors5xx: Number(errors5xx),
        durationMsMean: Math.round(Number(durationMsSum) / Number(count)),
      }))
      return { body: { data } }
    },
  } satisfies Handlers<'requests'>
}

const writeRequest = createRecordWriter(wire.LoggedRequest)
const toWireRequest = (row: LoggedRequest) =>
  writeRequest({ ...row, params: ownJson<Record<string, string>>(row.params) })
