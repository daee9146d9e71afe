// States of transactional ids in which a transaction is open.
export const OPEN = ['Ongoing', 'PrepareCommit', 'PrepareAbort'];
export const stateKind = (state) => (OPEN.includes(state) ? 'warn' : '');
