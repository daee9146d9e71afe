"""EndTxn: commit or abort. Decided in `tidelog.coordinators.transactions.end_transaction`.

Version 2 knows PRODUCER_FENCED, 5 ends transactions of the second protocol version and returns the next epoch
(KIP-890).
"""

from tidelog.protocol.messages import ApiKey
from tidelog.server.declaration import COORDINATOR_FIRST, WRITE_TRANSACTIONAL_ID, Api

API = Api(key=ApiKey.END_TXN, versions=(0, 5), permissions=(WRITE_TRANSACTIONAL_ID,), differences=(COORDINATOR_FIRST,))
