/** The operations on the request log. */
import * as requests from '../requests.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { entryId } from './params.ts'

export const requestsOperations = {
  listRequests: {
    tag: 'users',
    method: 'GET',
    path: '/v1/requests',
    query: requests.RequestQuery,
    response: requests.LoggedRequestPage,
    permission: 'users:read',
    source: 'extension',
    summary: 'List logged requests',
    description:
      'Returns your requests to the API of the last 30 days, newest first. A request appears a second or two after its answer. ' +
      'The log has no bodies and no query values. It includes requests of a known API key whose signature was refused, ' +
      'at most sixty a minute for each key. A page with filters reads 5,000 requests, so that it may be short or empty ' +
      'while `hasMore` is true.',
    refusals: [],
    example: {},
  },
  listRequestProblems: {
    tag: 'users',
    method: 'GET',
    path: '/v1/requests/problems',
    query: requests.RequestSumsQuery,
    response: requests.RequestProblems,
    permission: 'users:read',
    source: 'extension',
    summary: 'List problems of requests',
    description:
      'Returns how often each problem was answered, with its cure. A period has at most 31 days. Counts are kept for 13 months.',
    refusals: [],
    example: {},
  },
  listRequestSums: {
    tag: 'users',
    method: 'GET',
    path: '/v1/requests/sums',
    query: requests.RequestSumsQuery,
    response: requests.RequestSums,
    permission: 'users:read',
    source: 'extension',
    summary: 'List sums of requests',
    description:
      'Returns the number and the duration of requests for each day and operation. A period has at most 31 days. ' +
      'Sums are kept for 13 months.',
    refusals: [],
    example: {},
  },
  getRequest: {
    tag: 'users',
    method: 'GET',
    path: '/v1/requests/{entryId}',
    params: entryId,
    response: requests.LoggedRequest,
    permission: 'users:read',
    source: 'extension',
    summary: 'Retrieve a logged request',
    description: 'Returns one entry of the request log.',
    refusals: [],
    example: { params: { entryId: resource('loggedRequest') } },
  },
} as const satisfies Record<string, Operation>
