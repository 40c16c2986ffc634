/** Loaded into every measured process before its program (`--import`): answers what it has used when it is asked. */
export type Usage = { readonly cpuSeconds: number; readonly rssBytes: number; readonly heapBytes: number }

process.on('message', (message) => {
  if (message !== 'usage') return
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  process.send?.({ usage: { cpuSeconds: (user + system) / 1e6, rssBytes: rss, heapBytes: heapUsed } satisfies Usage })
})
process.on('disconnect', () => process.exit(0))
