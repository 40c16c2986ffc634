/** Operation id -> verb -> shape, for what a partner reads of its request log. */
import type { ResponseOf } from '@partner-payments/wire'
import type { Handlers } from '../../api/index.ts'
import type { LoggedRequest, Requests } from '../../requests/index.ts'

export function requestLogRoutes(requests: Requests) {
  return {
    listRequests: async ({ caller, query }) => {
      const page = await requests.list(caller.partnerId, query)
      return { body: { ...page, data: page.data.map(toWireRequest) } }
    },
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

const toWireRequest = ({
  partnerId: _partnerId,
  at,
  params,
  code,
  pointer,
  impersonatedBy,
  userAgent,
  ...row
}: LoggedRequest): ResponseOf<'getRequest'> => ({
  ...row,
  at: at.toISOString(),
  params: JSON.parse(params) as Record<string, string>,
  ...(code === null ? {} : { code }),
  ...(pointer === null ? {} : { pointer }),
  ...(impersonatedBy === null ? {} : { impersonatedBy }),
  ...(userAgent === null ? {} : { userAgent }),
})
