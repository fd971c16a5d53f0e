// The test's server has a Unix socket only, for which JDBC needs a class.

import java.io.*;
import java.net.*;
import java.nio.channels.*;

public class UnixSockets extends javax.net.SocketFactory {
	public Socket createSocket() { return new UnixSocket(); }
	public Socket createSocket(String host, int port) { return createSocket(); }
	public Socket createSocket(String host, int port, InetAddress from, int at) { return createSocket(); }
	public Socket createSocket(InetAddress host, int port) { return createSocket(); }
	public Socket createSocket(InetAddress host, int port, InetAddress from, int at) { return createSocket(); }

	static class UnixSocket extends Socket {
		private SocketChannel channel;

		public void connect(SocketAddress ignored, int timeout) throws IOException {
			channel = SocketChannel.open(UnixDomainSocketAddress.of(
				System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")));
		}

		public InputStream getInputStream() { return Channels.newInputStream(channel); }
		public OutputStream getOutputStream() { return Channels.newOutputStream(channel); }

		public void close() throws IOException {
			channel.close();
			super.close();
		}
	}
}
