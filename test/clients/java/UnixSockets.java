// The test's server has a Unix socket only, for which JDBC needs a class.

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;

import javax.net.SocketFactory;

public class UnixSockets extends SocketFactory {
	public UnixSockets() { }
	public Socket createSocket() { return new UnixSocket(); }
	public Socket createSocket(String host, int port) { return createSocket(); }
	public Socket createSocket(String host, int port, InetAddress from, int at) { return createSocket(); }
	public Socket createSocket(InetAddress host, int port) { return createSocket(); }
	public Socket createSocket(InetAddress host, int port, InetAddress from, int at) { return createSocket(); }
}

class UnixSocket extends Socket {
	private SocketChannel channel;

	public void connect(SocketAddress ignored, int timeout) throws IOException {
		channel = SocketChannel.open(StandardProtocolFamily.UNIX);
		channel.connect(UnixDomainSocketAddress.of(
			System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")));
	}

	public InputStream getInputStream() { return Channels.newInputStream(channel); }
	public OutputStream getOutputStream() { return Channels.newOutputStream(channel); }
	public boolean isConnected() { return channel != null; }
	public boolean isClosed() { return channel != null && !channel.isOpen(); }
	public void close() throws IOException { channel.close(); }
	public void setTcpNoDelay(boolean on) { }
	public void setKeepAlive(boolean on) { }
	public void setSoTimeout(int timeout) { }
	public int getSoTimeout() { return 0; }
	public int getSendBufferSize() { return 8192; }
}
