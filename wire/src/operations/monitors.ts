/** The operations on monitors of balances, in the group `accounts`. */
import * as monitors from '../monitors.ts'
import { resource } from './example.ts'
import type { Operation } from './operation.ts'
import { accountId, monitorId } from './params.ts'

export const monitorsOperations = {
  createAccountMonitor: {
    tag: 'accounts',
    method: 'POST',
    path: '/v1/accounts/{id}/monitors',
    params: accountId,
    body: monitors.MonitorCreate,
    response: monitors.Monitor,
    idempotency: 'header',
    makes: { id: 'id' },
    permission: 'accounts:write',
    source: 'extension',
    summary: 'Create a monitor of a balance',
    description:
      'Notifies you when a balance crosses a threshold: by the event `account.balance.crossed`, by mail to members of your team, or both. ' +
      'A worker checks the balance after every entry in order, so that it also finds short crossings, about half a minute after the ' +
      'entries. The monitor starts at the current balance: if the balance is already across the threshold, the monitor triggers at once. ' +
      'It triggers again only after the balance has returned to `rearmAt` and crosses again. ' +
      'A balance has at most 20 monitors.',
    refusals: ['validation_failed', 'not_found', 'account_blocked', 'monitor_limit_reached'],
    example: {
      params: { id: resource('tokenBalance') },
      body: {
        threshold: 100,
        direction: 'Below',
        rearmAt: 150,
        measure: 'Available',
        notify: { emails: [resource('member')], event: true },
        description: 'Float is low',
      },
    },
  },
  listAccountMonitors: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts/{id}/monitors',
    params: accountId,
    query: monitors.MonitorQuery,
    response: monitors.MonitorPage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List the monitors of a balance',
    description: 'Returns the monitors of a balance, newest first, without those that you deleted.',
    refusals: ['not_found', 'validation_failed'],
    example: { params: { id: resource('tokenBalance') } },
  },
  getAccountMonitor: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts/{id}/monitors/{monitorId}',
    params: monitorId,
    response: monitors.Monitor,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'Retrieve a monitor of a balance',
    description: 'Returns the monitor with its state and the last balance that was checked.',
    refusals: ['not_found'],
    example: { params: { id: resource('tokenBalance'), monitorId: resource('monitor') } },
  },
  updateAccountMonitor: {
    tag: 'accounts',
    method: 'PATCH',
    path: '/v1/accounts/{id}/monitors/{monitorId}',
    params: monitorId,
    body: monitors.MonitorUpdate,
    response: monitors.Monitor,
    permission: 'accounts:write',
    source: 'extension',
    summary: 'Update a monitor of a balance',
    description:
      'Sets the given fields; at least one is required. A new `direction`, `threshold`, `rearmAt` or `measure` starts the monitor ' +
      'again at the current balance. If the balance is across the threshold, it triggers at once. An ended monitor is refused.',
    refusals: ['validation_failed', 'not_found', 'account_blocked'],
    example: {
      params: { id: resource('tokenBalance'), monitorId: resource('monitor') },
      body: {
        direction: 'Above',
        threshold: 5000,
        rearmAt: 4500,
        measure: 'Posted',
        notify: { emails: [], event: true },
        description: 'Much money',
      },
    },
  },
  deleteAccountMonitor: {
    tag: 'accounts',
    method: 'DELETE',
    path: '/v1/accounts/{id}/monitors/{monitorId}',
    params: monitorId,
    permission: 'accounts:write',
    source: 'extension',
    summary: 'Delete a monitor of a balance',
    description:
      'Deletes the monitor. Crossings that were already found are still sent. Entries that were not checked yet are ignored.',
    refusals: ['not_found'],
    example: { params: { id: resource('tokenBalance'), monitorId: resource('monitor') } },
  },
  listAccountMonitorCrossings: {
    tag: 'accounts',
    method: 'GET',
    path: '/v1/accounts/{id}/monitors/{monitorId}/crossings',
    params: monitorId,
    query: monitors.MonitorCrossingQuery,
    response: monitors.MonitorCrossingPage,
    permission: 'accounts:read',
    source: 'extension',
    summary: 'List the crossings of a monitor',
    description:
      'Lists when the monitor triggered and was armed again, newest first, each with the balance after it and its transaction.',
    refusals: ['not_found', 'validation_failed'],
    example: { params: { id: resource('tokenBalance'), monitorId: resource('monitor') } },
  },
} as const satisfies Record<string, Operation>
